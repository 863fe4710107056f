/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_PLAN_H
#define GASPIPE_SUPERVISOR_ESTIMATE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/estimate/suite.h"

/* The calls of a suite's operations, and their measurements. */

enum measure {
    MEASURE_INSTRUCTIONS, /* machine instructions, under QEMU */
    MEASURE_COMPUTRONS,   /* of the engine */
    MEASURE_BLOCK_COST,   /* of the compiled meter */
    MEASURE_GAS,          /* that the engine charged itself: gasBurnt */
    MEASURES
};

/* Measurements of several equal calls. */
struct sample {
    double sum, least, most;
    size_t count; /* of calls; 0: not known */
};

/* A call that is made several times. */
struct point {
    size_t contract;    /* index in the suite */
    const char *method; /* borrowed from the suite; NULL: the start of the contract */
    uint64_t count, size;
    struct sample samples[MEASURES];
};

struct plan {
    struct point *points; /* owned */
    size_t count, capacity;
};

enum { PLAN_POINTS_MAX = 8192 };

/* The points of all operations, each once. 0, or -1 with the error. To be freed in any case. */
int plan_make(struct plan *plan, const struct suite *suite, struct error *error);
void plan_free(struct plan *plan);

/* The point of that call, or NULL. */
struct point *plan_find(const struct plan *plan, const struct point *like);

/*
 * Appends the deliveries as lines for gaspipe run: each point's calls in a row. The first call of
 * each is not measured, because it finds another state in the store. Failure stays in *out.
 */
void plan_write(const struct plan *plan, const struct suite *suite, struct buf *out);

/*
 * Reads the output of gaspipe run --json for those deliveries. 0, or -1 with ERROR_DELIVERY (a call
 * failed: which, and why) or ERROR_INPUT (these are not the deliveries of this suite).
 */
int plan_take(struct plan *plan, const struct suite *suite, const struct buf *lines,
              struct error *error);

#endif
