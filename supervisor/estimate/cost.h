/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_COST_H
#define GASPIPE_SUPERVISOR_ESTIMATE_COST_H

#include <stddef.h>

#include "base/error.h"
#include "gas/gas_model.h"
#include "supervisor/estimate/plan.h"
#include "supervisor/estimate/suite.h"

enum { LEAST_SQUARES_COLUMNS = 3, LEAST_SQUARES_ROWS = 256 };

/* A linear system with more rows than unknowns: row i is sum over j of x[i][j] * unknown[j]. */
struct least_squares {
    double x[LEAST_SQUARES_ROWS][LEAST_SQUARES_COLUMNS];
    double y[LEAST_SQUARES_ROWS];
    size_t rows, columns;
};

struct least_squares_fit {
    double unknowns[LEAST_SQUARES_COLUMNS];
    double residual; /* root of the mean square of what the unknowns leave unexplained */
    double spread;   /* the same of what the mean of y leaves */
};

/*
 * The unknowns that leave the least squares. -1: the rows do not tell the unknowns apart, being
 * too few or dependent on one another.
 */
int least_squares_solve(const struct least_squares *system, struct least_squares_fit *fit);

/* What the operations of a suite cost, by what their calls took. */

/* Reasons to doubt a cost, as bits; nearcore's estimator has the first three. */
enum cost_warning {
    COST_HIGH_VARIANCE = 1, /* the same call took more than 5 % more or less than another time */
    COST_NEGATIVE = 2,      /* the best fit is below zero */
    COST_UNDERFLOW = 4,     /* a call took less than its base */
    COST_NOT_LINEAR = 8,    /* the fit leaves more than 5 % of the differences unexplained */
    COST_WARNINGS = 4       /* how many there are */
};

extern const char *const cost_warnings[COST_WARNINGS]; /* in words, in the order of the bits */

struct cost {
    const char *operation;    /* borrowed from the suite */
    const char *unit;         /* it is for each byte, or the like; NULL: for each time. Borrowed */
    double amounts[MEASURES]; /* NAN: not known */
    double gas;               /* by the model; NAN: a measure that it weighs is not known */
    double charged;           /* today, in gas; NAN: not known */
    double ratio;             /* charged by gas: below 1 is too little; NAN where it is neither */
    double residual;          /* what the fit leaves unexplained, from 0 to 1 */
    unsigned warnings;
};

struct costs {
    struct cost *items; /* owned */
    size_t count;
};

struct cost_models {
    struct gas_model gas;
    const struct gas_model *charge; /* NULL: what the engine charged itself */
};

/*
 * The costs of each operation, those that are undercharged most first, those without a charge
 * last. 0, or -1 with ERROR_INPUT: the counts and sizes of an operation do not tell its costs
 * apart. To be freed in any case.
 */
int costs_estimate(struct costs *costs, const struct suite *suite, const struct plan *plan,
                   const struct cost_models *models, struct error *error);
void costs_free(struct costs *costs);

/* Into that order. */
void costs_sort(struct costs *costs);

/* What a cost is mainly of: the first known of instructions, block cost and computrons. */
enum measure cost_main_measure(const struct cost *cost);

#endif
