/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "supervisor/run/output.h"

enum { BEFORE_RESULT = 66, PARTS = 36, COST = 15, BLANKS_AND_DOTS = 5, BELOW = 13 };

/* How long the longest line of such a layout is. */
static size_t longest(struct output_layout layout, bool costs)
{
    const size_t row = (size_t)BEFORE_RESULT + (size_t)layout.method_width +
                       (layout.parts ? PARTS : 0) + (costs ? COST : 0);
    const size_t below = BELOW + layout.result_width;

    if (!layout.result_below)
        return row + BLANKS_AND_DOTS + layout.result_width;
    return row > below ? row : below;
}

static void test_without_a_terminal_nothing_is_cut(void **state)
{
    const struct output_layout layout = output_layout(0, 15);

    (void)state;
    assert_true(layout.parts);
    assert_false(layout.cuts || layout.result_below);
    assert_int_equal(layout.method_width, 20);
    assert_true(layout.result_width == SIZE_MAX);
}

static void test_lines_fit_into_every_terminal_that_is_not_too_narrow(void **state)
{
    (void)state;
    for (size_t width = 74; width < 300; width++)
        assert_true(longest(output_layout(width, 0), false) <= width);
    for (size_t width = 89; width < 300; width++)
        assert_true(longest(output_layout(width, 15), true) <= width);
}

static void test_columns_come_with_the_width(void **state)
{
    (void)state;
    assert_false(output_layout(80, 0).parts);
    assert_true(output_layout(80, 0).result_below);
    assert_true(output_layout(122, 0).parts);
    assert_false(output_layout(121, 0).parts);
    assert_false(output_layout(160, 0).result_below);
    assert_int_equal(output_layout(300, 0).result_width, 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_terminal_nothing_is_cut),
        cmocka_unit_test(test_lines_fit_into_every_terminal_that_is_not_too_narrow),
        cmocka_unit_test(test_columns_come_with_the_width),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
