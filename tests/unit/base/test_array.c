/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"

static void keeps_what_is_in_it(void **state)
{
    size_t capacity = 0;
    int *items = NULL;

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        items = array_reserve(items, &capacity, i + 1, sizeof *items);
        assert_non_null(items);
        assert_true(capacity > i);
        items[i] = (int)i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    assert_true(capacity < 2000 * 2);
    free(items);
}

static void takes_what_is_asked_at_once(void **state)
{
    size_t capacity = 0;
    char *items = array_reserve(NULL, &capacity, 12345, 1);

    (void)state;
    assert_non_null(items);
    assert_true(capacity >= 12345);
    free(items);
}

static void refuses_what_does_not_fit(void **state)
{
    size_t capacity = 0;
    int *items = array_reserve(NULL, &capacity, 4, sizeof *items);
    size_t before = capacity;

    (void)state;
    assert_non_null(items);
    assert_null(array_reserve(items, &capacity, SIZE_MAX / 2, sizeof *items));
    assert_null(array_reserve(items, &capacity, SIZE_MAX, 1024));
    assert_int_equal(capacity, before);
    items[3] = 1;
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_is_in_it),
        cmocka_unit_test(takes_what_is_asked_at_once),
        cmocka_unit_test(refuses_what_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
