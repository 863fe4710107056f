/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/json/json_memory.h"

enum { STRINGS = 600 };

static int setup(void **state)
{
    (void)state;
    json_memory_keep();
    return 0;
}

static void freed_blocks_are_used_again(void **state)
{
    json_t *value = json_integer(1);
    const uintptr_t place = (uintptr_t)value;

    (void)state;
    json_decref(value);
    value = json_integer(2);
    assert_int_equal((uintptr_t)value, place);
    assert_int_equal(json_integer_value(value), 2);
    json_decref(value);
}

/* Strings of every length from 0, each of another character than its neighbours. */
static json_t *many_strings(char first)
{
    json_t *strings = json_array();
    char text[STRINGS];

    for (size_t i = 0; i < STRINGS; i++) {
        memset(text, (char)(first + i % 20), i);
        assert_int_equal(json_array_append_new(strings, json_stringn(text, i)), 0);
    }
    return strings;
}

static void check_strings(const json_t *strings, char first)
{
    for (size_t i = 0; i < STRINGS; i++) {
        const json_t *string = json_array_get(strings, i);

        assert_int_equal(json_string_length(string), i);
        for (size_t at = 0; at < i; at++)
            assert_int_equal(json_string_value(string)[at], first + (char)(i % 20));
    }
}

/* More blocks of one size than are kept, and sizes that are not. */
static void values_do_not_share_memory(void **state)
{
    json_t *kept[3];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++)
            kept[i] = many_strings((char)('a' + i));
        for (int i = 0; i < 3; i++)
            check_strings(kept[i], (char)('a' + i));
        for (int i = 0; i < 3; i++)
            json_decref(kept[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_blocks_are_used_again),
        cmocka_unit_test(values_do_not_share_memory),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
