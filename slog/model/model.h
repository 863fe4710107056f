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

/* How many lines of each type came. All zeros is none. */
struct entries {
    struct names types; /* fit for a terminal, in the order of their first coming */
    uint64_t *counts;   /* by number in types; owned */
    size_t capacity;
    uint32_t known[RECORD_TYPES]; /* number + 1 of a type with one name; 0: it has not come, or has
                                     several */
};

/* Counts a line. -1 when memory ran out. */
int entries_add(struct entries *entries, const struct record *record);

void entries_free(struct entries *entries);

/*
 * The one model of a delivery's times, which all reports share.
 *
 * It is fed the records of one or more slogfiles in their order and gives each
 * delivery when its deliver-result has come. A delivery's time from the
 * kernel's sending (`deliver`) to its receiving (`deliver-result`) is cut, at
 * the moments that kernel and worker noted, into spans without gap or overlap:
 *
 *     kernel  sent        arrived answered              returned
 *               \           /        \                    /
 *          SEND  \      UP /  KERNEL  \ DOWN      RETURN /
 *     worker      \_______/            \________________/
 *                  WORKER                   WORKER
 *
 * A console call is a request like a syscall whose kernel span is nought. What
 * no noted moment bounds is UNKNOWN, never guessed. All times are nanoseconds.
 *
 * Memory is what the deliveries in flight need, and some bytes for each vat
 * and each kind of syscall that was ever seen.
 */

/* Of what deliveries, requests and answers say. */
enum { MODEL_WORDS = 240 };

/* A time that the file does not say. */
#define MODEL_NONE INT64_MIN

enum model_span_kind {
    MODEL_SEND,    /* the delivery in the pipe, kernel to worker */
    MODEL_WORKER,  /* the worker at work */
    MODEL_UP,      /* a request in the pipe, worker to kernel */
    MODEL_KERNEL,  /* the kernel at work on it */
    MODEL_DOWN,    /* the answer in the pipe, kernel to worker */
    MODEL_RETURN,  /* the result in the pipe, worker to kernel */
    MODEL_WAIT,    /* a request from sending to answer, pipe and kernel in one */
    MODEL_UNKNOWN, /* bounded, but nobody noted what happened in it */
    MODEL_SPAN_KINDS,
};

struct model_span {
    enum model_span_kind kind;
    bool spoiled;   /* its two ends were read off a clock that was set in between */
    uint32_t event; /* of UP, KERNEL, DOWN: which request; else UINT32_MAX */
    int64_t from, to;
};

/*
 * A message on its way from a send to the delivery that the send caused: equal
 * on both. With a result promise the kernel's number of it tells the message
 * apart from all others; without one, all that the message says, which others
 * can say too: then the kernel's queue delivers them in the order of the sends.
 */
struct model_message {
    uint64_t digest; /* 0: none */
    bool promised;
};

/* A request of the worker's: a syscall or a console call. */
struct model_event {
    bool console;
    bool changed_before; /* the clock was set between the kernel's last moment and `arrived` */
    bool changed_within; /* … between `arrived` and `answered` */
    int64_t arrived;     /* at the kernel; on the delivery's clock */
    int64_t answered;    /* MODEL_NONE: its syscall-result is missing */
    size_t request_bytes, answer_bytes; /* of a syscall's JSON, as the vat sees it */
    const char *kind;               /* "vatstoreGet", …, "console"; lives as long as the model */
    const char *label;              /* as describe_syscall(); "" without model_new()'s labels */
    const char *said, *answered_by; /* with model_set_words(): beginnings of what it says and of
                                       the answer's text; else "" */
    struct model_message message;   /* of a send; none without model_new()'s labels */
    /* Of a resolve, with labels: which promises of the kernel's it settles; never 0. */
    const uint64_t *promises;
    size_t promise_count;
};

/* How far the worker's stamps tell the delivery's story. */
enum model_coverage {
    MODEL_FULL,  /* two for the delivery and two for each request */
    MODEL_CUT,   /* fewer: xsnap keeps 502 and drops the rest */
    MODEL_LOOSE, /* more, as in replays, whose consoles are not logged: pairs without their lines */
    MODEL_BARE,  /* none: no worker process, or it died */
};

enum model_status { MODEL_OK, MODEL_ERROR };

struct model_delivery {
    const char *vat_id;   /* fit for a terminal, as all words here; borrowed */
    const char *vat_name; /* from its create-vat line; "" when not said */
    int64_t crank_num;    /* MODEL_NONE: not said (replay) */
    int64_t delivery_num; /* MODEL_NONE: not said */
    int64_t block_height; /* of the chain's block around it; MODEL_NONE: none */
    uint64_t run;         /* of the kernel's processes, from 1 on in the order of their coming */
    bool replay;
    const char *kind;             /* "message", "notify", … */
    const char *method;           /* of a message, else "" */
    const char *description;      /* as describe_delivery() */
    const char *arguments;        /* with model_set_words(): the beginning of what it says; "" */
    struct model_message message; /* that it brings; none in replays or without labels */
    /* Which promises a notify tells of, as those of an event; none as `message`. */
    const uint64_t *promises;
    size_t promise_count;
    /*
     * With model_new()'s labels: which delivery this is, in the order of their results from 1
     * on; which one's send or resolve it comes of, 0 where that is not known; the chain of all
     * that comes of one thing from outside (slog/model/causes.h), 0 in replays; and how long
     * it waited since it was sent, MODEL_NONE where that is not known.
     */
    uint64_t number, cause, chain;
    int64_t queued;
    enum model_status status;
    /*
     * Hashes of the result (what dr says but its meter) and, with
     * model_new()'s labels, of all syscalls and their order: equal where these are.
     */
    uint64_t result_digest, syscall_digest;
    const char *problem; /* the words of an error, else "" */
    const char *file;    /* which its deliver-result is in, as model_begin_file() */
    uint64_t line;       /* of its deliver-result */
    size_t bytes;        /* of its JSON, as the vat sees it */

    bool precise;  /* times are CLOCK_MONOTONIC's, to the nanosecond; else µs */
    int64_t sent;  /* the deliver line, on the clock of events and spans */
    int64_t start; /* of the deliver line, since the epoch; MODEL_NONE: no such line */
    /*
     * total = pipe + worker + kernel + unattributed, MODEL_NONE taken as 0.
     * pipe, worker, kernel are MODEL_NONE where nothing is known of them,
     * all of them where the deliver line is missing.
     */
    int64_t total, pipe, worker, kernel, unattributed;
    int64_t between;    /* from the previous delivery's return, same kernel; MODEL_NONE: none */
    bool clock_changed; /* some span is spoiled */

    enum model_coverage coverage;
    /* 1: stamps are missing for some requests, 0: not, -1: it cannot be told. */
    int overrun;
    double compute, instructions; /* NAN: not said */
    double block_cost;            /* units of the compiled-in meter; NAN: not said */
    double gas_burnt;             /* by NEAR's costs; NAN: not said */
    double gas;                   /* by model_set_gas(); NAN: not known */
    double heap_slots, allocated; /* as struct outcome */
    int64_t clist_entries; /* that the vat has gained since the first line, less those it lost */
    double cpu_user, cpu_sys, switched_out; /* as struct outcome */
    size_t syscalls, consoles, stamp_count;
    const struct model_event *events; /* in order; borrowed, as all here, for the call */
    size_t event_count;
    const struct model_span *spans; /* in order; none where nothing is known */
    size_t span_count;
};

/* Something about the file as a whole. */
enum model_note_kind {
    MODEL_NOTE_KERNEL,    /* a new kernel process begins at this line, and so a new run */
    MODEL_NOTE_CLOCK,     /* the clock was set between the line before and this one */
    MODEL_NOTE_UNENDED,   /* a delivery that began at this line has no deliver-result */
    MODEL_NOTE_UNSTARTED, /* a deliver-result whose deliver is not in the file */
    MODEL_NOTE_TOO_BIG    /* the flight recorder had no room for a record; `text` begins it */
};

enum { MODEL_NOTES = MODEL_NOTE_TOO_BIG + 1 };

struct model_note {
    enum model_note_kind kind;
    int64_t time;     /* of the line, nanoseconds since the epoch; TOO_BIG: MODEL_NONE */
    const char *file; /* which the line is in, as model_begin_file() */
    uint64_t line;
    int64_t amount;       /* CLOCK: nanoseconds that it was set forward */
    const char *vat_id;   /* UNENDED, UNSTARTED; else "" */
    int64_t delivery_num; /* the same; else MODEL_NONE */
    const char *text;     /* TOO_BIG; else "" */
};

/* What holds deliveries: a block of a chain, a crank, the replay of a vat. */
enum model_frame_kind { MODEL_FRAME_BLOCK, MODEL_FRAME_CRANK, MODEL_FRAME_REPLAY };

/* A line that begins or ends one. A block ends twice: with end-block and, on newer chains, after
 * its commit. */
struct model_frame {
    enum model_frame_kind kind;
    bool begins;
    int64_t number;     /* blockHeight, crankNum; MODEL_NONE: not said */
    const char *vat_id; /* of a replay; else "" */
    int64_t time;       /* nanoseconds since the epoch */
    int64_t monotime;   /* nanoseconds since the kernel's process began; MODEL_NONE: not said */
};

/* Something that came from outside and may begin work: a message of the chain's, a timer. */
struct model_inbound {
    const char *type;     /* "bridge-inbound", "deliver-inbound", "timer-poll", … */
    const char *number;   /* its inboundNum, "17-AB12-0"; "" when not said */
    const char *source;   /* of the bridge, or the sender; "" when not said */
    int64_t block_height; /* MODEL_NONE: outside of blocks */
    int64_t time;         /* nanoseconds since the epoch */
    uint64_t run;         /* as of a delivery */
    uint64_t chain;       /* which it begins, as of a delivery */
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
    /* Where the kernel's first runs after run 1 begin; there are notes[MODEL_NOTE_KERNEL] of them.
     */
    struct {
        const char *file; /* NULL if only one is read; borrowed */
        uint64_t line;
        int64_t time; /* nanoseconds since the epoch */
    } runs[MODEL_RUNS_NAMED];
};

void totals_add_note(struct model_totals *totals, const struct model_note *note);
void model_totals_free(struct model_totals *totals);

struct model;

/* `labels`: whether requests get theirs, which costs reading all of each syscall. */
struct model *model_new(const struct model_sink *sink, bool labels, struct error *error);

/* Deliveries and requests get their words, MODEL_WORDS bytes of each at most and "…". */
void model_set_words(struct model *model);

/* Deliveries get their gas by this model, which is borrowed. Without one they have none. */
void model_set_gas(struct model *model, const struct gas_model *gas);

/* The lines that come now are of this file; NULL: there is but one. Borrowed for good. */
void model_begin_file(struct model *model, const char *file);

/*
 * Takes in the next line's record. -1 when a sink failed, memory ran out, or
 * a slog-start line has a version that this does not know (ERROR_INPUT).
 */
int model_feed(struct model *model, const struct record *record, uint64_t line,
               struct error *error);

/* Notes the deliveries that are still in flight, and ends all phases; to be called at the end. */
void model_finish(struct model *model);

/* Moves the totals out of the model; the caller frees them with model_totals_free(). */
struct model_totals model_take_totals(struct model *model);

void model_free(struct model *model);

#endif
