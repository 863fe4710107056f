/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_BUDGET_H
#define GASPIPE_TRACE_READ_TRACE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"
#include "trace/memory.h"
#include "trace/ring/trace_ring.h"

/*
 * The text of a traced process, written from outside, without its help: a sandbox forbids it to do
 * so itself. Only while it executes nothing: all of its threads wait, and whoever could wake them
 * is known not to.
 */

/* Whether all threads wait in read(2): in another call one may go on by itself. False also where
 * that may not be seen. */
bool trace_text_is_idle(pid_t process);

/* Whether the process has one thread only, and that waits in futex(2) at this address. */
bool trace_text_waits_at(pid_t process, uint64_t address);

/* A descriptor for trace_text_put(), to be closed; -1: it may not be written to. */
int trace_text_open(pid_t process);

/* Has a patch stand there, or what stood there before. False: it does not; something else does. */
bool trace_text_put(int text, const struct trace_patch *patch, bool patched);

/* When functions were left out of a trace, to keep what it costs. */

struct trace_absence {
    uint32_t function; /* its number, from 1 on */
    uint32_t process;  /* its number in a trace's file, where there are several */
    int64_t begin;     /* nanoseconds of CLOCK_MONOTONIC */
    uint64_t calls;    /* of the function in the process, traced; where a trace has been read */
};

/* In the order in which they began, each function of a process once. */
struct trace_absences {
    struct trace_absence *list; /* owned */
    size_t count, capacity;
};

/* The function is left out from then on. -1 with ERROR_SYSTEM without memory. */
int trace_absences_add(struct trace_absences *absences, uint32_t process, uint32_t function,
                       int64_t at, struct error *error);
void trace_absences_free(struct trace_absences *absences);

/* What words about them need. */
struct trace_absence_words {
    const char *(*name)(void *context, uint32_t function);
    /* That were traced; NULL: the absences have them. */
    uint64_t (*calls)(void *context, uint32_t function);
    void *context;
    int64_t zero; /* when time begins */
};

/* Appends which functions of a process were left out, those with most calls first, and when, on one
 * line; nothing when there are none. -1 with ERROR_SYSTEM without memory. */
int trace_absences_put(const struct trace_absences *absences, uint32_t process,
                       const struct trace_absence_words *words, struct buf *out,
                       struct error *error);

/* The same as JSON lines, of all functions. `name` is the process's. */
int trace_absences_put_json(const struct trace_absences *absences, uint32_t process,
                            const char *name, const struct trace_absence_words *words,
                            struct buf *out, struct error *error);

/*
 * Keeps what tracing costs a process below a share of its own time: where it is more, the
 * functions that cost most are left out, for good. It does no I/O.
 */

/* What was used since the last decision, in nanoseconds. */
struct trace_spent {
    int64_t process; /* by the traced process, tracing included */
    int64_t reader;  /* by the reader */
};

struct budget_function {
    uint64_t calls; /* since the last decision */
    uint64_t cold;  /* of them, those whose trampoline nobody had used for a while */
    uint64_t last;  /* the time of the last call's event */
    uint64_t all;   /* since the beginning */
    bool left_out;
};

struct trace_budget {
    double share; /* of the process's own time: 0.05 */
    /* Nanoseconds of the process for an event; the caller sets it. Where the reader takes longer,
     * that counts: a process that is faster waits for it. */
    double event_cost;
    /* What a call costs on top of its events when its trampoline is in no cache any more, because
     * more than so much of the events' time has passed since the last. The caller sets them; 0:
     * such calls are not told from others. */
    double cold_cost;
    uint64_t cold_after;
    struct budget_function *functions; /* owned; by number */
    uint32_t *order;                   /* owned; room to sort numbers */
    size_t count;                      /* of numbers */
    uint64_t events, cold;             /* since the last decision: events, and cold calls */
};

/* For the functions of a plan. -1 with ERROR_SYSTEM. trace_budget_close() in any case. */
int trace_budget_open(struct trace_budget *budget, double share, size_t functions,
                      struct error *error);
void trace_budget_close(struct trace_budget *budget);

/* Counts events, as trace/memory.h has them. */
void trace_budget_add(struct trace_budget *budget, const uint64_t *events, size_t count);

/* Whether trace_budget_decide() should be called. */
bool trace_budget_is_due(const struct trace_budget *budget);

/*
 * Decides: *chosen gets the numbers to be left out from now on, borrowed until the next
 * call; how many is returned.
 */
size_t trace_budget_decide(struct trace_budget *budget, struct trace_spent spent,
                           const uint32_t **chosen);

/* Functions, by their numbers, are left out from then on: nanoseconds of CLOCK_MONOTONIC. 0, or -1
 * with the error filled. */
typedef int trace_throttle_note(void *context, const uint32_t *functions, size_t count, int64_t at,
                                struct error *error);

/* A budget put into force on the process of a ring. All zeros: there is none. */
struct trace_throttle {
    struct trace_budget budget;
    struct trace_absences absences;
    struct trace_ring *ring; /* NULL: no budget */
    trace_throttle_note *note;
    void *context;
    bool *restored;    /* owned; by number: its text is as it was */
    size_t to_restore; /* functions left out whose jumps are still there */
    pid_t process_id;
    clockid_t clock; /* of the process's own time */
    int64_t process; /* nanoseconds, at the last decision */
    int64_t hurry;   /* until then: nanoseconds of CLOCK_MONOTONIC */
    bool is_close;   /* the process is not let far ahead */
    struct trace_reading {
        bool behind;     /* others were published behind the events that came last */
        int64_t last;    /* when those came: nanoseconds of the reader's own time */
        int64_t time;    /* of that, what was spent on events since the last decision */
        uint64_t events; /* those */
    } reading;
};

/*
 * `percent` 0: no budget. When the sink is told that the process has begun; `note` is told what is
 * left out, NULL: nobody is. -1 with ERROR_SYSTEM. trace_throttle_close() in any case.
 */
int trace_throttle_open(struct trace_throttle *throttle, struct trace_ring *ring, uint64_t percent,
                        trace_throttle_note *note, void *context, struct error *error);
void trace_throttle_close(struct trace_throttle *throttle);

/* Counts events that the sink gets, and leaves functions out when they are too many. 0, or -1 with
 * the error filled. */
int trace_throttle_add(struct trace_throttle *throttle, const uint64_t *events, size_t count,
                       struct error *error);

/* Puts the text of functions that are left out back, so that nothing remains of their jumps. To be
 * called when the process waits for something that the caller alone would send, as a worker does
 * between deliveries; else nothing happens. */
void trace_throttle_between(struct trace_throttle *throttle);

/* Nanoseconds before the ring should be read again, `usual` at most: less while it is not known
 * what is too much, and the process is not let far ahead for that. */
int64_t trace_throttle_moment(const struct trace_throttle *throttle, int64_t usual);

/* Appends what was left out, and when, in words; nothing when it is nothing. `zero` is when time
 * begins. -1 with ERROR_SYSTEM without memory. */
int trace_throttle_put(struct trace_throttle *throttle, int64_t zero, struct buf *out,
                       struct error *error);

#endif
