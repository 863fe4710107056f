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

/* The median of one number or more, which it sorts; of an even count, the mean of the middle two.
 */
double median(double *values, size_t count);

/*
 * The deliveries of two slogfiles, matched by vatID and deliveryNum: some 100
 * bytes of memory for each.
 */

enum pair_part { PAIR_TOTAL, PAIR_PIPE, PAIR_WORKER, PAIR_KERNEL, PAIR_PARTS };

/* "total", "pipe", … */
const char *pair_part_name(enum pair_part part);

/* A delivery in one of the files; where it is twice (done again after a crash), the last. */
struct pair_side {
    bool present;
    bool ok;
    bool timed;                   /* its parts are known, and no change of the clock spoiled them */
    int64_t parts[PAIR_PARTS];    /* nanoseconds; MODEL_NONE: not said */
    double compute, instructions; /* NAN: not said */
    double block_cost;            /* likewise */
    size_t syscalls;
    /* Only while the files are read. */
    uint64_t result_digest, syscall_digest, description_digest;
};

/* What differs in what a delivery did, not in its time: a bit for each. */
enum pair_difference {
    PAIR_INPUT = 1,         /* it is another delivery */
    PAIR_RESULT = 2,        /* ok against error, or another result */
    PAIR_SYSCALLS = 4,      /* other syscalls, or in another order */
    PAIR_COMPUTE = 8,       /* computrons */
    PAIR_INSTRUCTIONS = 16, /* the same computrons in other machine instructions */
    PAIR_BLOCK_COST = 32,   /* the same in other units of block cost */
};

struct pair {
    const char *vat_id, *description; /* borrowed until the next pairs_add() */
    int64_t delivery_num;
    struct pair_side sides[2];
    unsigned differences; /* of enum pair_difference; 0 too when one file does not have it */
};

/* How the two files compare as a whole, in one part. */
struct pair_usual {
    int64_t sums[2]; /* of the deliveries timed in both */
    size_t count;
    double ratio;  /* the median of B to A */
    double spread; /* half of all ratios lie between ratio / spread and ratio × spread */
};

/* Where a delivery is in pairs.bytes, + 1; 0: it is not there. */
struct pair_entry {
    uint32_t head, sides[2];
};

struct pairs {
    struct pair_entry *entries; /* owned; in the order of their first coming */
    size_t count, capacity;
    uint32_t *slots; /* owned; hash table of entries: number + 1, or 0 */
    size_t slot_count;
    struct names vats;
    struct buf bytes; /* as tools/stats/pairs.h */
    struct pair_usual usual[PAIR_PARTS];
    size_t both, only[2];
};

/*
 * Takes in a delivery of file 0 (A) or 1 (B); all of A come first. -1 when memory ran
 * out, or there are more deliveries than 4 GiB hold.
 */
int pairs_add(struct pairs *pairs, int side, const struct model_delivery *delivery,
              struct error *error);

/* To be called when both files are in: fills usual, both, only. */
int pairs_compute(struct pairs *pairs, struct error *error);

/* The pair with this number, below pairs->count. */
struct pair pairs_get(const struct pairs *pairs, size_t number);

/* Whether it came out differently: in more than the counts of instructions and block cost. */
static inline bool pair_diverges(const struct pair *pair)
{
    return (pair->differences & ~(unsigned)(PAIR_INSTRUCTIONS | PAIR_BLOCK_COST)) != 0;
}

/* The total of B to that of A; NAN: not known. */
double pair_ratio(const struct pair *pair);

/* B's total beyond what A's and the usual ratio make, nanoseconds; 0 without a ratio. */
int64_t pair_excess(const struct pairs *pairs, const struct pair *pair);

/* Whether a pair took longer than the usual ratio and spread let one expect. */
bool pair_is_slower(const struct pairs *pairs, const struct pair *pair);

/* The part that grew most beyond the usual. */
enum pair_part pair_where(const struct pairs *pairs, const struct pair *pair);

void pairs_free(struct pairs *pairs);

#endif
