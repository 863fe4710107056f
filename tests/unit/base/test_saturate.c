/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"

static void sums_with_space_are_exact(void **state)
{
    (void)state;
    assert_true(saturate_add(2, 3) == 5);
    assert_true(saturate_add(INT64_MAX - 1, 1) == INT64_MAX);
    assert_true(saturate_add(INT64_MIN, INT64_MAX) == -1);
    assert_true(saturate_subtract(2, 3) == -1);
    assert_true(saturate_subtract(INT64_MIN + 1, 1) == INT64_MIN);
}

static void sums_without_space_stay_at_the_end(void **state)
{
    (void)state;
    assert_true(saturate_add(INT64_MAX, 1) == INT64_MAX);
    assert_true(saturate_add(1, INT64_MAX) == INT64_MAX);
    assert_true(saturate_add(INT64_MIN, -1) == INT64_MIN);
    assert_true(saturate_subtract(INT64_MIN, 1) == INT64_MIN);
    assert_true(saturate_subtract(0, INT64_MIN) == INT64_MAX);
    assert_true(saturate_subtract(INT64_MAX, -1) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_with_space_are_exact),
        cmocka_unit_test(sums_without_space_stay_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
