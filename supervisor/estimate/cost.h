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
    double residual; /* root mean square of the rows' differences from the fit */
    double spread;   /* the same from the mean of y */
};

/*
 * Fits the unknowns by least squares. -1: the rows are too few, or depend on one another.
 */
int least_squares_solve(const struct least_squares *system, struct least_squares_fit *fit);

/* Costs of a suite's operations, computed from their calls. */

/* Reasons to doubt a cost, as bits; nearcore's estimator has the first three. */
enum cost_warning {
    COST_HIGH_VARIANCE = 1, /* a call's results differ by more than 5 % */
    COST_NEGATIVE = 2,      /* the best fit is below zero */
    COST_UNDERFLOW = 4,     /* a call took less than its base */
    COST_NOT_LINEAR = 8,    /* the fit does not explain 5 % of the differences */
    COST_WARNINGS = 4       /* how many there are */
};

extern const char *const cost_warnings[COST_WARNINGS]; /* in words, in the order of the bits */

struct cost {
    const char *operation;    /* borrowed from the suite */
    const char *unit;         /* cost per byte or other unit; NULL: per operation. Borrowed */
    double amounts[MEASURES]; /* NAN: not known */
    double gas;               /* by the model; NAN: it needs an unknown measure */
    double charged;           /* today, in gas; NAN: not known */
    double ratio;             /* charged by gas: below 1 is too little; NAN: unknown */
    double residual;          /* the part that the fit does not explain, 0 to 1 */
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
 * Computes the costs of each operation, the most undercharged first, those without a charge last.
 * 0, or -1 with ERROR_INPUT: an operation's counts and sizes do not separate its costs. To be freed
 * in any case.
 */
int costs_estimate(struct costs *costs, const struct suite *suite, const struct plan *plan,
                   const struct cost_models *models, struct error *error);
void costs_free(struct costs *costs);

/* Sorts them in that order. */
void costs_sort(struct costs *costs);

/* The main measure of a cost: the first known of instructions, block cost and computrons. */
enum measure cost_main_measure(const struct cost *cost);

#endif
