/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "supervisor/estimate/cost.h"

static void add_row(struct least_squares *system, double times, double bytes, double y)
{
    const size_t row = system->rows++;

    system->x[row][0] = 1;
    system->x[row][1] = times;
    system->x[row][2] = bytes;
    system->y[row] = y;
}

static void test_gas_of_fifteen_digits_is_exact(void **state)
{
    static const double each = 4540970250, byte = 24117351, call = 98765432109876;
    struct least_squares system = {.columns = 3};
    struct least_squares_fit fit;

    (void)state;
    for (int times = 1; times <= 64; times *= 4)
        for (int size = 0; size <= 4096; size += 1024)
            add_row(&system, times, times * size, call + each * times + byte * times * size);
    assert_int_equal(least_squares_solve(&system, &fit), 0);
    assert_true(fabs(fit.unknowns[0] - call) < 1);
    assert_true(fabs(fit.unknowns[1] - each) < 0.01);
    assert_true(fabs(fit.unknowns[2] - byte) < 0.0001);
    assert_true(fit.residual < 1);
    assert_true(fit.spread > 1e12);
}

static void test_noise_is_what_remains(void **state)
{
    struct least_squares system = {.columns = 2};
    struct least_squares_fit fit;

    (void)state;
    add_row(&system, 0, 0, 10 + 1);
    add_row(&system, 1, 0, 13 - 1);
    add_row(&system, 2, 0, 16 - 1);
    add_row(&system, 3, 0, 19 + 1);
    assert_int_equal(least_squares_solve(&system, &fit), 0);
    assert_true(fabs(fit.unknowns[1] - 3) < 1e-12);
    assert_true(fabs(fit.residual - 1) < 1e-12);
}

static void test_rows_with_too_little_information_are_refused(void **state)
{
    struct least_squares system = {.columns = 2};
    struct least_squares_fit fit;

    (void)state;
    add_row(&system, 5, 0, 1);
    assert_int_equal(least_squares_solve(&system, &fit), -1);
    add_row(&system, 5, 0, 2);
    assert_int_equal(least_squares_solve(&system, &fit), -1);
    add_row(&system, 6, 0, 2);
    assert_int_equal(least_squares_solve(&system, &fit), 0);
    /* Bytes that grow with the times alone are no third unknown. */
    system.columns = 3;
    for (size_t i = 0; i < system.rows; i++)
        system.x[i][2] = 32 * system.x[i][1];
    assert_int_equal(least_squares_solve(&system, &fit), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gas_of_fifteen_digits_is_exact),
        cmocka_unit_test(test_noise_is_what_remains),
        cmocka_unit_test(test_rows_with_too_little_information_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
