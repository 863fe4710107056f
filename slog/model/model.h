/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_MODEL_H
#define GASPIPE_SLOG_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "gas/gas_model.h"
#include "slog/model/phases.h"
#include "slog/read/names.h"
#include "slog/read/record.h"

/* Lines by type. All zeros is none. */
struct entries {
    struct names types; /* safe for a terminal, in the order in which they first come */
    uint64_t *counts;   /* by number of the type; owned */
    size_t capacity;
    uint32_t known[RECORD_TYPES]; /* number + 1 of a type with one name; 0: not seen yet, or it
                                     has several names */
};

/* Counts a line. -1 when out of memory. */
int entries_add(struct entries *entries, const struct record *record);

/*
 * The model of a delivery's times, which all reports share.
 *
 * It takes the records of slogfiles in order and gives each delivery when its deliver-result
 * comes. A delivery lasts from the kernel's `deliver` line to its `deliver-result` line. Moments
 * that kernel and worker noted cut it into spans without gap or overlap:
 *
 *     kernel  sent        arrived answered              returned
 *               \           /        \                    /
 *          SEND  \      UP /  KERNEL  \ DOWN      RETURN /
 *     worker      \_______/            \________________/
 *                  WORKER                   WORKER
 *
 * A console call is a request with a kernel span of 0. Time that no noted moment bounds is
 * UNKNOWN, never guessed. All times are nanoseconds.
 *
 * Memory holds the deliveries in progress and some bytes for each vat and kind of syscall.
 */

/* Bytes kept of what deliveries, requests and answers say. */
enum { MODEL_WORDS = 240 };

/* A time or number that is not in the file. */
#define MODEL_NONE INT64_MIN

enum model_span_kind {
    MODEL_SEND,    /* the delivery in the pipe, kernel to worker */
    MODEL_WORKER,  /* the worker at work */
    MODEL_UP,      /* a request in the pipe, worker to kernel */
    MODEL_KERNEL,  /* the kernel at work on it */
    MODEL_DOWN,    /* the answer in the pipe, kernel to worker */
    MODEL_RETURN,  /* the result in the pipe, worker to kernel */
    MODEL_WAIT,    /* a request from sending to answer, pipe and kernel in one */
    MODEL_UNKNOWN, /* its ends are known, but not what happened in it */
    MODEL_SPAN_KINDS,
};

struct model_span {
    enum model_span_kind kind;
    bool spoiled;   /* the clock was set between its two ends */
    uint32_t event; /* index of the request of UP, KERNEL and DOWN; else UINT32_MAX */
    int64_t from, to;
};

/*
 * Identifies a message: equal for a send and for the delivery that it caused. A message with a
 * result promise is identified by that promise, which is unique. Others are identified by their
 * content, and the kernel delivers equal ones in the order in which they were sent.
 */
struct model_message {
    uint64_t digest; /* 0: none */
    bool promised;
};

/* A request of the worker: a syscall or a console call. */
struct model_event {
    bool console;
    bool changed_before; /* the clock was set between the kernel's last moment and `arrived` */
    bool changed_within; /* … between `arrived` and `answered` */
    int64_t arrived;     /* at the kernel; on the delivery's clock */
    int64_t answered;    /* MODEL_NONE: its syscall-result is missing */
    size_t request_bytes, answer_bytes; /* of the vat's side of the JSON */
    const char *kind;               /* "vatstoreGet", …, "console"; lives as long as the model */
    const char *label;              /* as describe_syscall(); "" without model_new()'s labels */
    const char *said, *answered_by; /* with model_set_words(): the beginnings of the request's
                                       and the answer's text; else "" */
    struct model_message message;   /* of a send; only with model_new()'s labels */
    /* With labels: digests of the promises that a resolve settles; never 0. */
    const uint64_t *promises;
    size_t promise_count;
};

/* How many of the moments of a delivery the worker's stamps cover. */
enum model_coverage {
    MODEL_FULL,  /* two for the delivery and two for each request */
    MODEL_CUT,   /* fewer: xsnap keeps 502 */
    MODEL_LOOSE, /* more, as in replays, whose console calls are not logged */
    MODEL_BARE,  /* none: no worker process, or it died */
};

enum model_status { MODEL_OK, MODEL_ERROR };

struct model_delivery {
    const char *vat_id;   /* safe for a terminal, as all text here; borrowed */
    const char *vat_name; /* from its create-vat line; "" if absent */
    int64_t crank_num;    /* MODEL_NONE in a replay */
    int64_t delivery_num; /* MODEL_NONE: not said */
    int64_t block_height; /* of the chain's block; MODEL_NONE outside of blocks */
    uint64_t run;         /* number of the kernel process, from 1 */
    bool replay;
    const char *kind;             /* "message", "notify", … */
    const char *method;           /* of a message, else "" */
    const char *description;      /* as describe_delivery() */
    const char *arguments;        /* with model_set_words(): the beginning of its text; else "" */
    struct model_message message; /* the message delivered; none in replays or without labels */
    /* Digests of the promises that a notify reports, as in model_event. */
    const uint64_t *promises;
    size_t promise_count;
    /*
     * With model_new()'s labels: the delivery's number, from 1 in the order of results. The number
     * of the delivery whose send or resolve caused it; 0: not known. Its chain
     * (slog/model/causes.h); 0 in replays. Nanoseconds since it was sent; MODEL_NONE: not known.
     */
    uint64_t number, cause, chain;
    int64_t queued;
    enum model_status status;
    /*
     * Digests of the result without its meter and, with model_new()'s labels, of all syscalls in
     * order.
     */
    uint64_t result_digest, syscall_digest;
    const char *problem; /* the text of an error, else "" */
    const char *file;    /* with its deliver-result, as model_begin_file() */
    uint64_t line;       /* of its deliver-result */
    size_t bytes;        /* of its JSON, as the vat sees it */

    bool precise;  /* times are CLOCK_MONOTONIC to the nanosecond; else microseconds */
    int64_t sent;  /* the deliver line, on the clock of events and spans */
    int64_t start; /* of the deliver line, since the epoch; MODEL_NONE: no such line */
    /*
     * total = pipe + worker + kernel + unattributed, with MODEL_NONE as 0. Pipe, worker and kernel
     * are MODEL_NONE if nothing is known of them; all five are if the deliver line is missing.
     */
    int64_t total, pipe, worker, kernel, unattributed;
    int64_t slog_pipe, client_pipe; /* by the slog's lines, by the client's frames; 0: not known */
    int64_t between; /* since the return of the kernel's previous delivery; MODEL_NONE if not
                        known */
    /* That gaspipe, and the worker, was ready to run but had no CPU; where both were at the same
     * moment, it counts once. MODEL_NONE: not said. */
    int64_t cpu_wait, worker_cpu_wait;
    bool clock_changed; /* a span is spoiled */

    enum model_coverage coverage;
    /* 1: stamps are missing for some requests; 0: none; -1: not known. */
    int overrun;
    double compute, instructions;           /* NAN: not said */
    double block_cost;                      /* units of the compiled-in meter */
    double gas_burnt;                       /* by NEAR's costs */
    double gas;                             /* by model_set_gas(); NAN without it */
    double heap_slots, allocated;           /* as struct outcome */
    int64_t clist_entries;                  /* gained since the first line, less those lost */
    double cpu_user, cpu_sys, switched_out; /* as struct outcome */
    size_t syscalls, consoles, stamp_count;
    const struct model_event *events; /* in order; borrowed for the call, as all here */
    size_t event_count;
    const struct model_span *spans; /* in order; none if nothing is known */
    size_t span_count;
};

/*
 * Where both ends waited for a CPU: these nanoseconds of each part. A frame is late while its
 * receiver has none. gaspipe receives UP and answers KERNEL, the worker receives DOWN; what does
 * not fit there was a wait between a stamp and the writing of the frame. The worker's own time had
 * as much of its wait as it did not run. All zeros if nothing is known.
 */
struct model_waits {
    int64_t up, down, worker, kernel;
    int64_t by_gaspipe, by_worker; /* the same, by whose wait it was */
};

struct model_waits model_waits_of(const struct model_delivery *delivery);

/* A part of the time without its waits; MODEL_NONE if the part is not known. */
static inline int64_t model_without_wait(int64_t part, int64_t waited)
{
    return part == MODEL_NONE ? MODEL_NONE : part - waited;
}

/* Adds `waits` to the sum. */
void model_waits_add(struct model_waits *sum, const struct model_waits *waits);

/* Notes about the file. */
enum model_note_kind {
    MODEL_NOTE_KERNEL,    /* a new kernel process, and so a new run, begins at this line */
    MODEL_NOTE_CLOCK,     /* the clock was set between the line before and this one */
    MODEL_NOTE_UNENDED,   /* a delivery that began at this line has no deliver-result */
    MODEL_NOTE_UNSTARTED, /* a deliver-result whose deliver is not in the file */
    MODEL_NOTE_TOO_BIG    /* a record did not fit the flight recorder; `text` begins it */
};

enum { MODEL_NOTES = MODEL_NOTE_TOO_BIG + 1 };

struct model_note {
    enum model_note_kind kind;
    int64_t time;     /* of the line, nanoseconds since the epoch; TOO_BIG: MODEL_NONE */
    const char *file; /* with the line, as model_begin_file() */
    uint64_t line;
    int64_t amount;       /* CLOCK: nanoseconds by which it was set forward */
    const char *vat_id;   /* of UNENDED and UNSTARTED; else "" */
    int64_t delivery_num; /* of the same; else MODEL_NONE */
    const char *text;     /* TOO_BIG; else "" */
};

/* Kinds of frames in which deliveries lie: a block of a chain, a crank, the replay of a vat. */
enum model_frame_kind { MODEL_FRAME_BLOCK, MODEL_FRAME_CRANK, MODEL_FRAME_REPLAY };

/*
 * A line that begins or ends a frame. A block ends twice: with end-block and, on newer chains,
 * after its commit.
 */
struct model_frame {
    enum model_frame_kind kind;
    bool begins;
    int64_t number;     /* blockHeight, crankNum; MODEL_NONE: not said */
    const char *vat_id; /* of a replay; else "" */
    int64_t time;       /* nanoseconds since the epoch */
    int64_t monotime;   /* nanoseconds since the kernel's process began; MODEL_NONE: not said */
};

/* An event from outside that may begin work: a message of the chain, a timer. */
struct model_inbound {
    const char *type;     /* "bridge-inbound", "deliver-inbound", "timer-poll", … */
    const char *number;   /* its inboundNum, "17-AB12-0"; "" if absent */
    const char *source;   /* of the bridge, or the sender; "" if absent */
    int64_t block_height; /* MODEL_NONE: outside of blocks */
    int64_t time;         /* nanoseconds since the epoch */
    uint64_t run;         /* as of a delivery */
    uint64_t chain;       /* the chain that it begins, as of a delivery */
};

/* Receives what the model finds. Any function may be NULL. */
struct model_sink {
    /* Failure (-1 with *error) ends the feeding. */
    int (*delivery)(void *context, const struct model_delivery *delivery, struct error *error);
    void (*note)(void *context, const struct model_note *note);
    void (*frame)(void *context, const struct model_frame *frame);
    void (*inbound)(void *context, const struct model_inbound *inbound);
    void (*phase)(void *context, const struct phase_span *span);
    void (*block)(void *context, const struct phase_block *block);
    void *context;
};

/* Counts of everything that was fed. All zeros is nothing. */
enum { MODEL_RUNS_NAMED = 4 };
struct model_totals {
    uint64_t deliveries;
    uint64_t notes[MODEL_NOTES]; /* by kind */
    int64_t phases[PHASES];      /* nanoseconds of each phase's own */
    struct entries entries;      /* lines by type; owned */
    /* Beginnings of the first runs after run 1, notes[MODEL_NOTE_KERNEL] of them. */
    struct {
        const char *file; /* NULL if only one is read; borrowed */
        uint64_t line;
        int64_t time; /* nanoseconds since the epoch */
    } runs[MODEL_RUNS_NAMED];
};

void totals_add_note(struct model_totals *totals, const struct model_note *note);
void model_totals_free(struct model_totals *totals);

struct model;

/* With `labels`, requests have labels and causes are found; each syscall is then parsed in full. */
struct model *model_new(const struct model_sink *sink, bool labels, struct error *error);

/* Deliveries and requests get their text, at most MODEL_WORDS bytes of each and "…". */
void model_set_words(struct model *model);

/* The pipe's time ends at the frames of the worker's client where it noted them (docs/swingset.md).
 */
void model_set_client_stamps(struct model *model);

/* Prices deliveries by this model, which is borrowed. */
void model_set_gas(struct model *model, const struct gas_model *gas);

/* The next lines are from this file; NULL if there is only one. Borrowed until model_free(). */
void model_begin_file(struct model *model, const char *file);

/*
 * Takes the next line's record. -1 when the sink fails, when out of memory, or with ERROR_INPUT
 * for a slog-start line of an unknown version.
 */
int model_feed(struct model *model, const struct record *record, uint64_t line,
               struct error *error);

/* Call at the end: notes deliveries in progress, and ends all phases. */
void model_finish(struct model *model);

/* The ID of the vat of this number, in the order in which lines named them; `name` is "" if no line
 * said it. NULL if there are fewer. */
const char *model_vat(const struct model *model, size_t number, const char **name);

/* Moves the totals out of the model; the caller frees them with model_totals_free(). */
struct model_totals model_take_totals(struct model *model);

void model_free(struct model *model);

#endif
