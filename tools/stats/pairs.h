/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_PAIRS_H
#define GASPIPE_TOOLS_STATS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"
#include "slog/read/names.h"

/*
 * The median of at least one number, which it sorts; of an even count, the mean of the middle two.
 */
double median(double *values, size_t count);

/* Matches the deliveries of two slogfiles by vatID and deliveryNum. Each takes some 100 bytes. */

enum pair_part { PAIR_TOTAL, PAIR_PIPE, PAIR_WORKER, PAIR_KERNEL, PAIR_PARTS };

/* "total", "pipe", … */
const char *pair_part_name(enum pair_part part);

/* A delivery in one file; the last one if it was repeated after a crash. */
struct pair_side {
    bool present;
    bool ok;
    bool timed;                   /* its parts are known and not spoiled by a clock change */
    int64_t parts[PAIR_PARTS];    /* nanoseconds; MODEL_NONE if absent */
    double compute, instructions; /* NAN if absent */
    double block_cost;            /* NAN if absent */
    size_t syscalls;
    /* Only valid while reading the files. */
    uint64_t result_digest, syscall_digest, description_digest;
};

/* Differences between the two sides other than time, as bits. */
enum pair_difference {
    PAIR_INPUT = 1,         /* another delivery */
    PAIR_RESULT = 2,        /* ok and error, or another result */
    PAIR_SYSCALLS = 4,      /* other syscalls, or in another order */
    PAIR_COMPUTE = 8,       /* computrons */
    PAIR_INSTRUCTIONS = 16, /* the same computrons with other machine instructions */
    PAIR_BLOCK_COST = 32,   /* the same with another block cost */
};

struct pair {
    const char *vat_id, *description; /* borrowed until the next pairs_add() */
    int64_t delivery_num;
    struct pair_side sides[2];
    unsigned differences; /* of enum pair_difference; also 0 if only one file has it */
};

/* How one part compares over all deliveries. */
struct pair_usual {
    int64_t sums[2]; /* of the deliveries timed in both */
    size_t count;
    double ratio;  /* the median of B / A */
    double spread; /* half of all ratios lie between ratio / spread and ratio × spread */
};

/* Offsets in pairs.bytes, + 1; 0 if absent. */
struct pair_entry {
    uint32_t head, sides[2];
};

struct pairs {
    struct pair_entry *entries; /* owned; in order of first appearance */
    size_t count, capacity;
    uint32_t *slots; /* owned; hash table of entries: number + 1, or 0 */
    size_t slot_count;
    struct names vats;
    struct buf bytes; /* packed deliveries */
    struct pair_usual usual[PAIR_PARTS];
    size_t both, only[2];
};

/*
 * Adds a delivery of file 0 (A) or 1 (B); all of A first. -1 when out of memory or beyond 4 GiB of
 * packed deliveries.
 */
int pairs_add(struct pairs *pairs, int side, const struct model_delivery *delivery,
              struct error *error);

/* Call after the last delivery: fills usual, both and only. */
int pairs_compute(struct pairs *pairs, struct error *error);

/* The pair with this number, below pairs->count. */
struct pair pairs_get(const struct pairs *pairs, size_t number);

/* True if it differs in more than instructions and block cost. */
static inline bool pair_diverges(const struct pair *pair)
{
    return (pair->differences & ~(unsigned)(PAIR_INSTRUCTIONS | PAIR_BLOCK_COST)) != 0;
}

/* The ratio of the totals, B / A; NAN if not known. */
double pair_ratio(const struct pair *pair);

/* B's total minus A's times the usual ratio, nanoseconds; 0 without a ratio. */
int64_t pair_excess(const struct pairs *pairs, const struct pair *pair);

/* True if B took longer than the usual ratio and spread explain. */
bool pair_is_slower(const struct pairs *pairs, const struct pair *pair);

/* The part that exceeds its usual ratio most. */
enum pair_part pair_where(const struct pairs *pairs, const struct pair *pair);

void pairs_free(struct pairs *pairs);

#endif
