/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_PHASES_H
#define GASPIPE_SLOG_MODEL_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slog/read/record.h"

/*
 * Divides the time of a kernel process among phases. At each moment exactly one phase is
 * innermost, and that time is its own. So the own times of all phases add up to the time from the
 * process's first line to its last.
 *
 * Phases nest as the lines that begin and end them do. Saving a snapshot and cleaning up a
 * terminated vat only have a line at their end: they took the time since the previous line.
 * Loading a snapshot only has a line at its beginning: it takes the time up to the next line.
 *
 * The lines X-start and X-finish of types that are not known begin and end a phase X. It has no own
 * time after the phase around it has ended, since it may run in parallel to what follows.
 */
enum phase {
    PHASE_OTHER, /* outside of all others */
    PHASE_KERNEL_START,
    PHASE_BOOTSTRAP,
    PHASE_UPGRADE,
    PHASE_BEGIN_BLOCK, /* from begin-block to the start of end-block: the chain's consensus */
    PHASE_END_BLOCK,   /* own: outside of its runs */
    PHASE_RUN,         /* a run of the kernel's queue; own: outside of its cranks */
    PHASE_CRANK,       /* own: the kernel's work before and after the delivery */
    PHASE_DELIVERY,    /* not replayed */
    PHASE_VAT_START,
    PHASE_REPLAY,
    PHASE_SNAPSHOT_SAVE,
    PHASE_SNAPSHOT_LOAD,
    PHASE_VAT_CLEANUP,
    PHASE_COMMIT,
    PHASE_AFTER_COMMIT,
    PHASE_IDLE,  /* between the last work for a block and the next begin-block */
    PHASE_NAMED, /* the first of those named after types that are not known */
    PHASES = PHASE_NAMED + 64,
};

/* The name in reports: "begin-block", "snapshot-save", …; NULL if it is of no type so far. */
const char *phase_name(enum phase phase);

/* A phase that has ended. Times are nanoseconds. */
struct phase_span {
    enum phase phase;
    int64_t start;      /* since the epoch */
    int64_t total;      /* from its beginning to its end */
    int64_t own;        /* without inner phases */
    const char *vat_id; /* of VAT_START, REPLAY, SNAPSHOT_*, VAT_CLEANUP; else "" */
    const char *name; /* of RUN: "leftover", "timer", …; of KERNEL_START: "bundle", …; else "" */
    int64_t block_height; /* RECORD_NONE: outside of blocks */
    double beans;         /* of RUN, counted by its policy; NAN if absent */
    double bytes;         /* of SNAPSHOT_SAVE: uncompressed size; NAN if absent */
    double stored;        /* of SNAPSHOT_SAVE: compressed size; NAN if absent */
};

/* A block, which ends where the next one begins. */
struct phase_block {
    int64_t height;
    int64_t start;       /* since the epoch */
    int64_t total;       /* up to the next block */
    int64_t own[PHASES]; /* adds up to the total */
    uint64_t deliveries;
};

/* The deepest nesting, which also bounds phases without an end. */
enum { PHASES_DEEPEST = 16, PHASES_PARALLEL = 16, PHASE_NAME_SIZE = 24 };

struct phase_frame {
    enum phase phase;
    int64_t from;  /* as `now` */
    int64_t start; /* since the epoch */
    int64_t own;
    char name[PHASE_NAME_SIZE], vat_id[PHASE_NAME_SIZE];
};

struct model_sink;

/* All zeros but the sink is the state before the first line. */
struct phases {
    const struct model_sink *sink; /* borrowed; its functions `phase` and `block` are called */
    int64_t own[PHASES];           /* nanoseconds of all that ended */
    struct phase_frame frames[PHASES_DEEPEST];    /* [0] is OTHER */
    size_t depth;                                 /* 0 before the first line */
    struct phase_frame parallel[PHASES_PARALLEL]; /* named, and no longer nested; oldest first */
    size_t parallel_count;
    /* The latest time of any line: */
    int64_t now;  /* CLOCK_MONOTONIC if the file has it */
    int64_t real; /* since the epoch */
    enum record_type last_type;
    bool until_next; /* the innermost phase ends at the next line */
    bool in_block;
    struct phase_block block;
};

/* True if phases_line() needs the next line, which is of this type. */
static inline bool phases_want(const struct phases *phases, enum record_type type)
{
    return phases->until_next ||
           (type != RECORD_OTHER && type != RECORD_SYSCALL && type != RECORD_SYSCALL_RESULT &&
            type != RECORD_CONSOLE && type != RECORD_CLIST);
}

/*
 * Takes a line of the kernel process. `vat_id` is the line's, safe for a terminal, or "".
 * `before`: both clocks of the previous line (monotime may be RECORD_NONE), which may have been
 * left out.
 */
void phases_line(struct phases *phases, const struct record *record, const char *vat_id,
                 int64_t time_before, int64_t monotime_before);

/* The process ended at the line with these two clocks: ends all phases and the block. */
void phases_end(struct phases *phases, int64_t time, int64_t monotime);

#endif
