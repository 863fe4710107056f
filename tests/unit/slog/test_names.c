/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slog/read/names.h"

static void numbers_strings_in_their_order(void **state)
{
    struct names names = {0};

    (void)state;
    assert_int_equal(names_intern(&names, "v1", 2), 0);
    assert_int_equal(names_intern(&names, "v10", 3), 1);
    assert_int_equal(names_intern(&names, "v10", 2), 0);
    assert_int_equal(names_intern(&names, "v10", 3), 1);
    names_free(&names);
}

static void takes_an_empty_string_without_an_address(void **state)
{
    struct names names = {0};

    (void)state;
    assert_int_equal(names_intern(&names, NULL, 0), 0);
    assert_int_equal(names_intern(&names, NULL, 0), 0);
    assert_int_equal(names_intern(&names, "", 0), 0);
    assert_int_equal(names_intern(&names, "v1", 2), 1);
    names_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_strings_in_their_order),
        cmocka_unit_test(takes_an_empty_string_without_an_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
