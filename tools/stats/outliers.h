/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_OUTLIERS_H
#define GASPIPE_TOOLS_STATS_OUTLIERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"
#include "slog/read/names.h"
#include "tools/stats/histogram.h"

/*
 * Spans that took far longer than their like.
 *
 * Spans of pipe and kernel are alike when they are of the same kind, for the
 * same kind of syscall, with a message of about the same size (within a factor
 * of four). A worker is judged by all of its time in a delivery, against
 * deliveries with about as many instructions, or where these were not counted,
 * computrons (within a factor of four); where there are fewer than
 * OUTLIERS_ENOUGH of these, it is not judged. Of the others then the size is left
 * out, and then the kind of syscall.
 *
 * Memory: a histogram for each such class, and its longest spans.
 */
enum { OUTLIERS_ENOUGH = 20 };

struct outlier {
    enum model_span_kind kind;
    int64_t took, usual, start; /* nanoseconds; start since the epoch */
    double size;                /* bytes, or instructions or computrons; NAN: not known */
    size_t like;                /* how many spans it was judged against */
    int64_t crank_num, delivery_num;
    const char *file; /* of its deliver-result, and the line in it; as in the delivery */
    uint64_t line;
    double cpu;          /* of a worker: nanoseconds that it ran in the delivery; NAN: not said */
    double switched_out; /* how often it had to let others run; NAN: not said */
    bool instructions;   /* size is in instructions */
    struct buf words;    /* vat, delivery's description, syscall's, each ended by '\0' */
    size_t description, syscall; /* where in words */
};

struct outliers_class;

struct outliers {
    size_t keep; /* how many are to be found, and each class keeps */
    struct names names;
    struct outliers_class *classes; /* by number in names; owned */
    size_t class_count, class_capacity;
};

/*
 * Takes in a live delivery; spoiled spans are passed over. It counts for what
 * is usual in any case, and for what outliers_find() finds if `wanted`.
 * -1 when memory ran out.
 */
int outliers_add(struct outliers *outliers, const struct model_delivery *delivery, bool wanted,
                 struct error *error);

/*
 * The spans that stand out and took at least `least` nanoseconds more than
 * usual, the one that lost most first: an array of *count pointers to be freed,
 * `keep` at most, NULL when memory ran out. They live as long as `outliers`. *all is how
 * many there are, whatever `keep` is.
 */
struct outlier **outliers_find(struct outliers *outliers, int64_t least, size_t *count,
                               uint64_t *all, struct error *error);

void outliers_free(struct outliers *outliers);

#endif
