/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/cost.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- least squares ---- */

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

static void subtract_cost(long double *column, long double times, const long double *other,
                          size_t rows)
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
        subtract_cost(column, parts->r[k][j], parts->q[k], system->rows);
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
        subtract_cost(rest, along[j], parts->q[j], system->rows);
    }
}

static double spread_of_calls(const struct least_squares *system)
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
    fit->spread = spread_of_calls(system);
    return 0;
}

/* ---- costs ---- */

static_assert(LEAST_SQUARES_ROWS >= SUITE_NUMBERS_MAX * SUITE_NUMBERS_MAX, "rows of an operation");

const char *const cost_warnings[COST_WARNINGS] = {"high variance", "negative", "underflow",
                                                  "not linear"};

enum { COST_EACH, COST_BYTE, COST_PARTS };

static const double doubtful = 0.05; /* from which share on there is a warning */

/* A row of the system: a call, and what is compared with it. */
struct cost_row {
    const struct point *taken;
    const struct point *base;    /* NULL: none */
    const struct point *charged; /* whose gas counts */
    double times, bytes;
};

/* An operation as a system: its rows, and the column of each of its costs. */
struct cost_system {
    struct cost_row rows[LEAST_SQUARES_ROWS];
    size_t row_count;
    size_t columns;                /* the first, of ones, is for what is the same in each call */
    size_t columns_of[COST_PARTS]; /* in which is the cost for each time and for a byte */
    size_t parts;                  /* 1: no cost per byte */
};

/* ---- rows ---- */

static const struct point *point_of(const struct plan *plan, size_t contract, const char *method,
                                    uint64_t count, uint64_t size)
{
    const struct point like = {
        .contract = contract, .method = method, .count = count, .size = size};

    return plan_find(plan, &like);
}

static void add_loads(struct cost_system *system, const struct suite *suite,
                      const struct suite_operation *operation, const struct plan *plan)
{
    for (size_t i = 0; i < operation->loads.count; i++) {
        const size_t contract = operation->loads.values[i];

        system->rows[system->row_count++] = (struct cost_row){
            .taken = point_of(plan, contract, NULL, 0, 0),
            .charged = point_of(plan, contract, operation->method, 1, 0),
            .times = 1,
            .bytes = (double)suite->contracts[contract].length,
        };
    }
    /* A start's cost is its whole measurement: there is no constant column. */
    system->columns = 2;
    system->columns_of[COST_EACH] = 0;
    system->columns_of[COST_BYTE] = 1;
    system->parts = 2;
}

static void add_cost_call(struct cost_system *system, const struct suite_operation *operation,
                          const struct plan *plan, uint64_t count, uint64_t size)
{
    struct cost_row *row = &system->rows[system->row_count++];

    row->taken = row->charged = point_of(plan, operation->contract, operation->method, count, size);
    row->base = operation->base != NULL
                    ? point_of(plan, operation->contract, operation->base, count, size)
                    : NULL;
    row->times = (double)(count * operation->repeat);
    row->bytes = row->times * (double)size;
}

static void add_cost_calls(struct cost_system *system, const struct suite_operation *operation,
                           const struct plan *plan)
{
    const size_t sizes = operation->sizes.count;

    for (size_t i = 0; i < operation->counts.count; i++)
        for (size_t j = 0; j < (sizes > 0 ? sizes : 1); j++)
            add_cost_call(system, operation, plan, operation->counts.values[i],
                          sizes > 0 ? operation->sizes.values[j] : 0);
    system->parts = sizes > 0 ? 2 : 1;
    system->columns = 1 + system->parts;
    system->columns_of[COST_EACH] = 1;
    system->columns_of[COST_BYTE] = 2;
}

/* ---- fits ---- */

static double cost_mean(const struct point *point, enum measure measure)
{
    const struct sample *sample = &point->samples[measure];

    return sample->count > 0 ? sample->sum / (double)sample->count : (double)NAN;
}

/* The row's measurement minus its base's; NAN: not known. */
static double net_of_base(const struct cost_row *row, enum measure measure)
{
    const struct point *taken = measure == MEASURE_GAS ? row->charged : row->taken;

    return cost_mean(taken, measure) - (row->base != NULL ? cost_mean(row->base, measure) : 0);
}

/* -1: the rows do not separate the costs. *known: all rows have this measure. */
static int fit_measure(const struct cost_system *system, enum measure measure,
                       struct least_squares_fit *fit, bool *known)
{
    struct least_squares equations = {.rows = system->row_count, .columns = system->columns};

    *known = true;
    for (size_t i = 0; i < system->row_count; i++) {
        const struct cost_row *row = &system->rows[i];
        const double all[] = {1, row->times, row->bytes};
        const double loads[] = {1, row->bytes};

        memcpy(equations.x[i], system->columns_of[COST_EACH] == 0 ? loads : all,
               system->columns * sizeof *all);
        equations.y[i] = net_of_base(row, measure);
        *known = *known && !isnan(equations.y[i]);
    }
    return *known ? least_squares_solve(&equations, fit) : 0;
}

/* ---- warnings ---- */

static bool varies(const struct cost_row *row, enum measure measure)
{
    const struct sample *sample = &row->taken->samples[measure];

    return sample->most - sample->least > doubtful * fabs(net_of_base(row, measure));
}

static unsigned warnings_of(const struct cost_system *system, enum measure measure,
                            const struct least_squares_fit *fit)
{
    unsigned warnings = fit->residual > doubtful * fit->spread ? COST_NOT_LINEAR : 0;

    for (size_t i = 0; i < system->row_count; i++) {
        if (varies(&system->rows[i], measure))
            warnings |= COST_HIGH_VARIANCE;
        if (net_of_base(&system->rows[i], measure) < 0)
            warnings |= COST_UNDERFLOW;
    }
    return warnings;
}

enum measure cost_main_measure(const struct cost *cost)
{
    if (!isnan(cost->amounts[MEASURE_INSTRUCTIONS]))
        return MEASURE_INSTRUCTIONS;
    return !isnan(cost->amounts[MEASURE_BLOCK_COST]) ? MEASURE_BLOCK_COST : MEASURE_COMPUTRONS;
}

/* ---- costs ---- */

/* Without the dust of the arithmetic. */
static double cleaned(double amount)
{
    static const double finest = 1e6;

    return round(amount * finest) / finest + 0.0;
}

static double weigh(const struct gas_model *model, const struct cost *cost)
{
    const struct gas_usage usage = {.instructions = cost->amounts[MEASURE_INSTRUCTIONS],
                                    .computrons = cost->amounts[MEASURE_COMPUTRONS],
                                    .block_cost = cost->amounts[MEASURE_BLOCK_COST],
                                    .bytes_read = NAN,
                                    .bytes_written = NAN,
                                    .syscalls = NAN};

    return gas_model_weigh(model, &usage);
}

static void price_cost(struct cost *cost, const struct cost_models *models)
{
    cost->gas = weigh(&models->gas, cost);
    cost->charged =
        models->charge != NULL ? weigh(models->charge, cost) : cost->amounts[MEASURE_GAS];
    cost->ratio = cost->gas > 0 && cost->charged >= 0 ? cost->charged / cost->gas : (double)NAN;
    if (cost->amounts[cost_main_measure(cost)] < 0)
        cost->warnings |= COST_NEGATIVE;
}

static int estimate_operation(struct cost *parts, const struct cost_system *system,
                              const struct cost_models *models)
{
    struct least_squares_fit fits[MEASURES] = {{.residual = 0}};

    for (size_t i = 0; i < MEASURES; i++) {
        bool known;

        if (fit_measure(system, (enum measure)i, &fits[i], &known) != 0)
            return -1;
        for (size_t j = 0; j < system->parts; j++)
            parts[j].amounts[i] =
                known ? cleaned(fits[i].unknowns[system->columns_of[j]]) : (double)NAN;
    }
    for (size_t j = 0; j < system->parts; j++) {
        const enum measure measure = cost_main_measure(&parts[j]);
        const struct least_squares_fit *fit = &fits[measure];

        parts[j].residual = fit->spread > 0 ? fit->residual / fit->spread : 0;
        parts[j].warnings = warnings_of(system, measure, fit);
        price_cost(&parts[j], models);
    }
    return 0;
}

static int add_operation(struct costs *costs, const struct suite *suite,
                         const struct suite_operation *operation, const struct plan *plan,
                         const struct cost_models *models, struct error *error)
{
    struct cost *parts = &costs->items[costs->count];
    struct cost_system system = {.row_count = 0};

    if (operation->loads.count > 0)
        add_loads(&system, suite, operation, plan);
    else
        add_cost_calls(&system, operation, plan);
    for (size_t i = 0; i < system.parts; i++)
        parts[i] = (struct cost){.operation = operation->name,
                                 .unit = i == COST_BYTE ? operation->unit : NULL};
    if (estimate_operation(parts, &system, models) != 0)
        return error_set(error, ERROR_INPUT,
                         "operation %s: its counts and sizes do not separate its costs; give "
                         "more different ones",
                         operation->name);
    costs->count += system.parts;
    return 0;
}

/* NAN is last; what is as bad is in the order of names. */
static int compare_cost_values(const void *a, const void *b)
{
    const struct cost *one = a, *other = b;
    const double first = isnan(one->ratio) ? (double)INFINITY : one->ratio;
    const double second = isnan(other->ratio) ? (double)INFINITY : other->ratio;
    const int names = strcmp(one->operation, other->operation);

    if (first < second || second < first)
        return first < second ? -1 : 1;
    return names != 0 ? names : (one->unit != NULL) - (other->unit != NULL);
}

void costs_sort(struct costs *costs)
{
    if (costs->count > 0) /* qsort(3) may not be given NULL */
        qsort(costs->items, costs->count, sizeof *costs->items, compare_cost_values);
}

int costs_estimate(struct costs *costs, const struct suite *suite, const struct plan *plan,
                   const struct cost_models *models, struct error *error)
{
    *costs = (struct costs){.items = calloc(suite->operation_count + 1, 2 * sizeof *costs->items)};
    if (costs->items == NULL)
        return error_memory(error, "the costs");
    for (size_t i = 0; i < suite->operation_count; i++)
        if (add_operation(costs, suite, &suite->operations[i], plan, models, error) != 0)
            return -1;
    costs_sort(costs);
    return 0;
}

void costs_free(struct costs *costs)
{
    free(costs->items);
    *costs = (struct costs){0};
}
