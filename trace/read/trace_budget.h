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
 * Writes the text of a traced process from outside, which its sandbox forbids it to do itself.
 *
 * The hazard is the same as in trace/agent/agent.c: no thread may execute the five bytes meanwhile.
 * So it is done only while all threads wait in a system call, and the caller knows that nothing but
 * itself ends that call: a worker between two deliveries, or a thread held in the agent.
 */

/* Returns true if all threads wait in read(2), which does not end by itself as other calls do.
 * False also if Linux does not let the caller see it. */
bool trace_text_is_idle(pid_t process);

/* Returns true if the process has one thread, which waits in futex(2) at this address. */
bool trace_text_waits_at(pid_t process, uint64_t address);

/* A descriptor for trace_text_put(), which the caller closes; -1: writing is not allowed. */
int trace_text_open(pid_t process);

/* Writes the patch, or the original bytes. False: other bytes are there, or writing failed. */
bool trace_text_put(int text, const struct trace_patch *patch, bool patched);

/* When a function was left out of a trace, to reduce its overhead. */

struct trace_exclusion {
    uint32_t function; /* its number, from 1 on */
    uint32_t process;  /* its number in a trace's file, where there are several */
    int64_t begin;     /* nanoseconds of CLOCK_MONOTONIC */
    uint64_t calls;    /* traced calls of the function; after a trace was read */
};

/* In the order of `begin`; each function of a process once. */
struct trace_exclusions {
    struct trace_exclusion *list; /* owned */
    size_t count, capacity;
};

/* -1 with ERROR_SYSTEM if out of memory. */
int trace_exclusions_add(struct trace_exclusions *exclusions, uint32_t process, uint32_t function,
                         int64_t at, struct error *error);
void trace_exclusions_free(struct trace_exclusions *exclusions);

/* Provides names and numbers for reports. */
struct trace_exclusion_words {
    const char *(*name)(void *context, uint32_t function);
    /* Traced calls; NULL: trace_exclusion.calls. */
    uint64_t (*calls)(void *context, uint32_t function);
    void *context;
    int64_t zero; /* the start of the trace, CLOCK_MONOTONIC */
};

/* Appends a line with the functions of a process that were left out, and when, most called first;
 * nothing if none were. -1 with ERROR_SYSTEM if out of memory. */
int trace_exclusions_put(const struct trace_exclusions *exclusions, uint32_t process,
                         const struct trace_exclusion_words *words, struct buf *out,
                         struct error *error);

/* The same as JSON lines, of all functions. `name` is the process's. */
int trace_exclusions_put_json(const struct trace_exclusions *exclusions, uint32_t process,
                              const char *name, const struct trace_exclusion_words *words,
                              struct buf *out, struct error *error);

/*
 * Keeps the overhead of tracing below a share of the process's own time. If it is more, the most
 * expensive functions are left out permanently. Does no I/O.
 */

/* CPU time since the last decision, in nanoseconds. */
struct trace_spent {
    int64_t process; /* by the traced process, tracing included */
    int64_t reader;  /* by the reader */
};

struct budget_function {
    uint64_t calls; /* since the last decision */
    uint64_t cold;  /* of them, calls whose trampoline was in no cache */
    uint64_t last;  /* the time of the last call's event */
    uint64_t all;   /* calls since the beginning */
    bool left_out;
};

struct trace_budget {
    double share; /* of the process's own time: 0.05 */
    /* Nanoseconds of the process for an event; the caller sets it. If the reader takes longer, its
     * time counts, because the process waits for it. */
    double event_cost;
    /* A call more than `cold_after` ticks after the last one finds its trampoline in no cache and
     * costs `cold_cost` nanoseconds more. The caller sets both; 0: not distinguished. */
    double cold_cost;
    uint64_t cold_after;
    struct budget_function *functions; /* owned; by number */
    uint32_t *order;                   /* owned; numbers in the order of their costs */
    size_t count;                      /* of numbers */
    uint64_t events, cold;             /* since the last decision: events, and cold calls */
};

/* For the functions of a plan. -1 with ERROR_SYSTEM. trace_budget_close() in any case. */
int trace_budget_open(struct trace_budget *budget, double share, size_t functions,
                      struct error *error);
void trace_budget_close(struct trace_budget *budget);

/* Counts events, as trace/memory.h has them. */
void trace_budget_add(struct trace_budget *budget, const uint64_t *events, size_t count);

/* Returns true if trace_budget_decide() should be called. */
bool trace_budget_is_due(const struct trace_budget *budget);

/* Chooses functions to leave out. *chosen: their numbers, borrowed until the next call. Returns how
 * many. */
size_t trace_budget_decide(struct trace_budget *budget, struct trace_spent spent,
                           const uint32_t **chosen);

/* Called when functions, by their numbers, are left out; `at` is CLOCK_MONOTONIC in nanoseconds. 0,
 * or -1 with the error filled. */
typedef int trace_throttle_note(void *context, const uint32_t *functions, size_t count, int64_t at,
                                struct error *error);

/* Applies a budget to the process of a ring. All zeros: none. */
struct trace_throttle {
    struct trace_budget budget;
    struct trace_exclusions exclusions;
    struct trace_ring *ring; /* NULL: no budget */
    trace_throttle_note *note;
    void *context;
    bool *restored;    /* owned; by number: its jump was removed, or cannot be */
    size_t to_restore; /* functions left out whose jumps remain */
    pid_t process_id;
    clockid_t clock;          /* of the process's own time */
    int64_t process;          /* nanoseconds, at the last decision */
    int64_t read_often_until; /* read most often until then: nanoseconds of CLOCK_MONOTONIC */
    bool is_close;            /* the process waits after a few chunks */
    struct trace_reading {
        bool has_more; /* more events than the last ones were published */
        int64_t last;  /* when the last ones were read: nanoseconds of the reader's CPU time */
        int64_t time;  /* CPU time spent on `events` since the last decision */
        uint64_t events;
    } reading;
};

/* Called from the sink's begun(). `percent` 0: no budget. `note` may be NULL. -1 with ERROR_SYSTEM.
 * Call trace_throttle_close() in any case. */
int trace_throttle_open(struct trace_throttle *throttle, struct trace_ring *ring, uint64_t percent,
                        trace_throttle_note *note, void *context, struct error *error);
void trace_throttle_close(struct trace_throttle *throttle);

/* Counts the sink's events, and leaves functions out if there are too many. 0, or -1 with the error
 * filled. */
int trace_throttle_add(struct trace_throttle *throttle, const uint64_t *events, size_t count,
                       struct error *error);

/* Removes the jumps of functions that are left out, if the process is idle. Call it while the
 * process waits for something that only the caller sends, as a worker does between deliveries. */
void trace_throttle_between(struct trace_throttle *throttle);

/* Nanoseconds until the ring should be read again, at most `usual`: less while the budget has not
 * settled and the process has few chunks. */
int64_t trace_throttle_moment(const struct trace_throttle *throttle, int64_t usual);

/* As trace_exclusions_put(); `zero` as in trace_exclusion_words. */
int trace_throttle_put(struct trace_throttle *throttle, int64_t zero, struct buf *out,
                       struct error *error);

#endif
