/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/least_squares.h"

#include <math.h>
#include <string.h>

/*
 * By orthogonal columns (modified Gram-Schmidt) in long double: gas has fifteen digits, of which
 * normal equations in double would lose half.
 */
struct decomposition {
    long double q[LEAST_SQUARES_COLUMNS][LEAST_SQUARES_ROWS];
    long double r[LEAST_SQUARES_COLUMNS][LEAST_SQUARES_COLUMNS];
};

static long double dot(const long double *a, const long double *b, size_t rows)
{
    long double sum = 0;

    for (size_t i = 0; i < rows; i++)
        sum += a[i] * b[i];
    return sum;
}

static void take_away(long double *column, long double times, const long double *other, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        column[i] -= times * other[i];
}

/* -1: this column is, but for rounding, a sum of those before it. */
static int add_column(struct decomposition *parts, const struct least_squares *system, size_t j)
{
    static const long double rounding = 1e-12L;
    long double *column = parts->q[j], before, length;

    for (size_t i = 0; i < system->rows; i++)
        column[i] = system->x[i][j];
    before = sqrtl(dot(column, column, system->rows));
    for (size_t k = 0; k < j; k++) {
        parts->r[k][j] = dot(parts->q[k], column, system->rows);
        take_away(column, parts->r[k][j], parts->q[k], system->rows);
    }
    length = sqrtl(dot(column, column, system->rows));
    if (!(length > before * rounding))
        return -1;
    parts->r[j][j] = length;
    for (size_t i = 0; i < system->rows; i++)
        column[i] /= length;
    return 0;
}

/* Puts y's parts along the columns into *along; what is left of y stays in `rest`. */
static void project(const struct decomposition *parts, const struct least_squares *system,
                    long double *along, long double *rest)
{
    for (size_t i = 0; i < system->rows; i++)
        rest[i] = system->y[i];
    for (size_t j = 0; j < system->columns; j++) {
        along[j] = dot(parts->q[j], rest, system->rows);
        take_away(rest, along[j], parts->q[j], system->rows);
    }
}

static double spread_of(const struct least_squares *system)
{
    long double mean = 0, sum = 0;

    for (size_t i = 0; i < system->rows; i++)
        mean += system->y[i] / (long double)system->rows;
    for (size_t i = 0; i < system->rows; i++)
        sum += (system->y[i] - mean) * (system->y[i] - mean);
    return (double)sqrtl(sum / (long double)system->rows);
}

int least_squares_solve(const struct least_squares *system, struct least_squares_fit *fit)
{
    struct decomposition parts;
    long double along[LEAST_SQUARES_COLUMNS], rest[LEAST_SQUARES_ROWS];

    memset(fit, 0, sizeof *fit);
    if (system->rows < system->columns)
        return -1;
    for (size_t j = 0; j < system->columns; j++)
        if (add_column(&parts, system, j) != 0)
            return -1;
    project(&parts, system, along, rest);
    for (size_t j = system->columns; j-- > 0;) {
        for (size_t k = j + 1; k < system->columns; k++)
            along[j] -= parts.r[j][k] * along[k];
        along[j] /= parts.r[j][j];
    }
    for (size_t j = 0; j < system->columns; j++)
        fit->unknowns[j] = (double)along[j];
    fit->residual = (double)sqrtl(dot(rest, rest, system->rows) / (long double)system->rows);
    fit->spread = spread_of(system);
    return 0;
}
