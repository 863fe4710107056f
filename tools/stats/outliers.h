/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_OUTLIERS_H
#define GASPIPE_TOOLS_STATS_OUTLIERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/pair_table.h"
#include "slog/model/model.h"
#include "slog/read/names.h"
#include "tools/stats/histogram.h"

/*
 * Finds spans that took far longer than similar ones.
 *
 * Spans of pipe and kernel are similar if they are of the same kind, for the same kind of syscall,
 * with a message of similar size (within a factor of four). If there are fewer than
 * OUTLIERS_ENOUGH of these, the size is ignored, and then the kind of syscall. A worker is judged
 * by all its time in a delivery, against deliveries with a similar number of instructions (within
 * a factor of four) or, without these, computrons. If there are too few, it is not judged.
 *
 * Memory: a histogram for each such class, and its longest spans.
 */
enum { OUTLIERS_ENOUGH = 20 };

struct outlier {
    enum model_span_kind kind;
    int64_t took, usual, start; /* nanoseconds; start since the epoch */
    double size;                /* bytes, instructions or computrons; NAN if not known */
    size_t like;                /* number of spans it was judged against */
    int64_t crank_num, delivery_num;
    const char *file; /* as in model_delivery */
    uint64_t line;
    int64_t cpu_wait, worker_cpu_wait; /* as in model_delivery */
    double cpu;          /* of a worker: nanoseconds of CPU in the delivery; NAN if absent */
    double switched_out; /* involuntary context switches; NAN if absent */
    bool instructions;   /* `size` is in instructions */
    struct buf words;    /* vat, the delivery's description, the syscall's, each with its '\0' */
    size_t description, syscall; /* where in words */
};

struct outliers_class;

struct outliers {
    size_t keep;               /* how many to find, and to keep in each class */
    int64_t least;             /* nanoseconds: an outlier took at least so much more than usual */
    struct names names;        /* numbers kinds of syscall */
    struct pair_table numbers; /* of classes, plus 1 */
    struct outliers_class *classes; /* owned */
    size_t class_count, class_capacity;
};

/* Which end had no CPU for half of the span or more, and so was late; NONE: none is known to. */
enum outlier_end { OUTLIER_NONE, OUTLIER_GASPIPE, OUTLIER_WORKER };

enum outlier_end outlier_waiting_end(const struct outlier *outlier);

/*
 * Adds a live delivery, without spoiled spans. It always counts for what is usual, and for
 * outliers_find() if `wanted`. -1 when out of memory.
 */
int outliers_add(struct outliers *outliers, const struct model_delivery *delivery, bool wanted,
                 struct error *error);

/*
 * Finds the outliers, the largest loss first: an array of *count pointers, at most `keep`, to be
 * freed. NULL when out of memory. They are valid as long as `outliers`. *all is their number
 * regardless of `keep`.
 */
struct outlier **outliers_find(struct outliers *outliers, size_t *count, uint64_t *all,
                               struct error *error);

void outliers_free(struct outliers *outliers);

#endif
