/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_LEAST_SQUARES_H
#define GASPIPE_SUPERVISOR_ESTIMATE_LEAST_SQUARES_H

#include <stddef.h>

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

#endif
