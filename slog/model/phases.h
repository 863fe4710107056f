/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_PHASES_H
#define GASPIPE_SLOG_MODEL_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slog/read/record.h"

/*
 * Divides the whole time of a kernel's process among phases: at every moment exactly one
 * phase is innermost, and gets that time as its own. So the own times of all phases add up
 * to the time from the process's first line to its last.
 *
 * Phases are nested as the lines that begin and end them are. A snapshot being saved and a
 * terminated vat being cleaned up have a line at their end only: they took the time since
 * the line before. A snapshot being loaded has a line at its beginning only: it takes the
 * time up to the next line.
 */
enum phase {
    PHASE_OTHER, /* in none of the others */
    PHASE_KERNEL_START,
    PHASE_BOOTSTRAP,
    PHASE_UPGRADE,
    PHASE_BEGIN_BLOCK, /* from begin-block to the start of end-block: consensus, the chain */
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
    PHASE_IDLE, /* between the last work for a block and the next begin-block */
    PHASES,
};

/* As reports call it: "begin-block", "snapshot-save", … */
const char *phase_name(enum phase phase);

/* A phase that has ended. Times are nanoseconds. */
struct phase_span {
    enum phase phase;
    int64_t start;      /* since the epoch */
    int64_t total;      /* from its beginning to its end */
    int64_t own;        /* without the phases within it */
    const char *vat_id; /* of VAT_START, REPLAY, SNAPSHOT_*, VAT_CLEANUP; else "" */
    const char *name; /* of RUN: "leftover", "timer", …; of KERNEL_START: "bundle", …; or "" */
    int64_t block_height; /* RECORD_NONE: outside of blocks */
    double beans;         /* of RUN: that its policy counted; NAN: not said */
    double bytes;         /* of SNAPSHOT_SAVE: its size, not compressed; NAN: not said */
    double stored;        /* of SNAPSHOT_SAVE: compressed; NAN: not said */
};

/* A block that has ended, which is where the next one begins. */
struct phase_block {
    int64_t height;
    int64_t start;       /* since the epoch */
    int64_t total;       /* up to the next block */
    int64_t own[PHASES]; /* adds up to the total */
    uint64_t deliveries;
};

/* Phases within each other; lines that nobody ends do not pile up beyond that. */
enum { PHASES_DEEPEST = 16, PHASE_NAME_SIZE = 24 };

struct phase_frame {
    enum phase phase;
    int64_t from;  /* on the clock of `now` */
    int64_t start; /* since the epoch */
    int64_t own;
    char name[PHASE_NAME_SIZE], vat_id[PHASE_NAME_SIZE];
};

struct model_sink;

/* All zeros but the sink is where no line has come. */
struct phases {
    const struct model_sink *sink; /* borrowed; its functions `phase` and `block` are called */
    int64_t own[PHASES];           /* nanoseconds of all that ended */
    struct phase_frame frames[PHASES_DEEPEST]; /* [0] is OTHER */
    size_t depth;                              /* 0: no line has come */
    /* Of the latest line, which is never before an earlier one: */
    int64_t now;  /* on CLOCK_MONOTONIC where the file has it */
    int64_t real; /* since the epoch */
    enum record_type last_type;
    bool until_next; /* the innermost phase ends at the next line */
    bool in_block;
    struct phase_block block;
};

/* Whether the next line is to be given to phases_line(), if it is of this type. */
static inline bool phases_want(const struct phases *phases, enum record_type type)
{
    return phases->until_next ||
           (type != RECORD_OTHER && type != RECORD_SYSCALL && type != RECORD_SYSCALL_RESULT &&
            type != RECORD_CONSOLE && type != RECORD_CLIST);
}

/*
 * Takes a line of the kernel's process. `vat_id` is the line's, fit for a terminal; "" where it has
 * none. `before`: both clocks of the line before (monotime or RECORD_NONE), which may have been
 * left out.
 */
void phases_line(struct phases *phases, const struct record *record, const char *vat_id,
                 int64_t time_before, int64_t monotime_before);

/* The process has ended, with the line of these two clocks: ends all phases and the block. */
void phases_end(struct phases *phases, int64_t time, int64_t monotime);

#endif
