/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_PAIRS_H
#define GASPIPE_TOOLS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model.h"
#include "slog/names.h"

/*
 * The deliveries of two slogfiles, matched by vatID and deliveryNum: some 250
 * bytes of memory for each.
 */

enum pair_part { PAIR_TOTAL, PAIR_PIPE, PAIR_WORKER, PAIR_KERNEL, PAIR_PARTS };

/* "total", "pipe", … */
const char *pair_part_name(enum pair_part part);

/* A delivery in one of the files; where it is twice (done again after a crash), the last. */
struct pair_side {
    bool present;
    bool ok;
    bool timed; /* its parts are known, and no change of the clock spoiled them */
    int64_t crank_num;
    int64_t parts[PAIR_PARTS]; /* nanoseconds; MODEL_NONE: not said */
    double compute, instructions;
    size_t syscalls;
    uint64_t result_digest, syscall_digest, description_digest;
};

struct pair {
    size_t vat_id, description; /* where in pairs.words */
    int64_t delivery_num;
    struct pair_side sides[2];
    double ratio;   /* of B's total to A's; NAN: not known */
    int64_t excess; /* B's total beyond what A's and the usual ratio make, nanoseconds */
};

/* How the two files compare as a whole, in one part. */
struct pair_usual {
    int64_t sums[2]; /* of the deliveries timed in both */
    size_t count;
    double ratio;  /* the median of B to A */
    double spread; /* half of all ratios lie between ratio / spread and ratio × spread */
};

struct pairs {
    struct pair *pairs; /* owned; in the order of their first coming */
    size_t count, capacity;
    struct names keys;
    struct buf words;
    struct pair_usual usual[PAIR_PARTS];
    size_t both, only[2];
};

/* Takes in a delivery of file 0 (A) or 1 (B). -1 when memory ran out. */
int pairs_add(struct pairs *pairs, int side, const struct model_delivery *delivery,
              struct error *error);

/* To be called when both files are in: fills ratio, excess, usual, both, only. */
int pairs_compute(struct pairs *pairs, struct error *error);

/* What differs in what a delivery did, not in its time: a bit for each. */
enum pair_difference {
    PAIR_INPUT = 1,        /* it is another delivery */
    PAIR_RESULT = 2,       /* ok against error, or another result */
    PAIR_SYSCALLS = 4,     /* other syscalls, or in another order */
    PAIR_COMPUTE = 8,      /* computrons */
    PAIR_INSTRUCTIONS = 16 /* the same computrons in other machine instructions */
};
unsigned pair_differences(const struct pair *pair);

/* Whether a pair took longer than the usual ratio and spread let one expect. */
bool pair_is_slower(const struct pairs *pairs, const struct pair *pair);

/* The part that grew most beyond the usual. */
enum pair_part pair_where(const struct pairs *pairs, const struct pair *pair);

static inline const char *pairs_word(const struct pairs *pairs, size_t word)
{
    return pairs->words.data + word;
}

void pairs_free(struct pairs *pairs);

#endif
