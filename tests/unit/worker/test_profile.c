/* SPDX-License-Identifier: Apache-2.0 */
/* A command's cost by function, chain and line: worker/profile.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/profile.h"

static struct profile_key key_of(uint64_t key)
{
    return (struct profile_key){key, 1};
}

static uint32_t named(struct profile *profile, uint64_t key, const char *name)
{
    bool known;
    const uint32_t function = profile_function(profile, key_of(key), &known);

    if (!known)
        profile_name_function(profile, function, name, "f.js", (uint32_t)key);
    return function;
}

static void assert_encoded(const struct profile *profile, const char *expected)
{
    struct buf json = {0};

    profile_encode(profile, &json);
    assert_string_equal(buf_string(&json), expected);
    buf_free(&json);
}

static void costs_belong_to_chains(void **state)
{
    struct profile *profile = profile_new();
    const uint32_t one = named(profile, 1, "one"), two = named(profile, 2, "two");
    uint32_t outer, inner, line;

    (void)state;
    outer = profile_call(profile, 0, key_of(1), one);
    inner = profile_call(profile, outer, key_of(2), two);
    assert_int_equal(profile_call(profile, outer, key_of(2), two), inner);
    assert_int_not_equal(profile_call(profile, 0, key_of(2), two), inner);
    profile_name_file(profile, 7, "f.js");
    assert_true(profile_knows_file(profile, 7));
    assert_false(profile_knows_file(profile, 6));
    line = profile_line(profile, 7, 3);
    profile_charge(profile, inner, line, 10, 100);
    profile_charge(profile, inner, 0, -4, 5);
    assert_int_equal(profile_charged(profile), 6);
    assert_encoded(
        profile, "{\"functions\":[[\"(engine)\",null,0],[\"one\",\"f.js\",1],[\"two\",\"f.js\",2]],"
                 "\"nodes\":[[0,0,0,0,0],[0,1,1,0,0],[1,2,2,6,105],[0,2,1,0,0]],"
                 "\"lines\":[[null,0,-4,5],[\"f.js\",3,10,100]]}");
    profile_free(profile);
}

static void a_new_command_begins_at_nothing(void **state)
{
    struct profile *profile = profile_new();
    const uint32_t one = named(profile, 1, "one"), two = named(profile, 2, "two");

    (void)state;
    profile_charge(profile, profile_call(profile, 0, key_of(1), one), 0, 10, 0);
    profile_begin(profile);
    assert_int_equal(profile_charged(profile), 0);
    profile_charge(profile, profile_call(profile, 0, key_of(2), two), 0, 1, 0);
    /* A function that the command did not run is left out. */
    assert_encoded(profile, "{\"functions\":[[\"(engine)\",null,0],[\"two\",\"f.js\",2]],"
                            "\"nodes\":[[0,0,0,0,0],[0,1,1,1,0]],\"lines\":[[null,0,1,0]]}");
    profile_free(profile);
}

static void many_functions_and_lines(void **state)
{
    struct profile *profile = profile_new();

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        const uint32_t function = named(profile, i + 1, "f");

        profile_charge(profile, profile_call(profile, i, key_of(i + 1), function),
                       profile_line(profile, 1, i), 1, 0);
    }
    assert_int_equal(profile_charged(profile), 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(named(profile, i + 1, "f"), i + 1);
    profile_free(profile);
}

static void calls_are_known_again(void **state)
{
    struct profile *profile = profile_new();
    const uint32_t one = named(profile, 1, "one");
    uint32_t node, again;

    (void)state;
    assert_false(profile_call_again(profile, 0, key_of(1), &again));
    node = profile_call(profile, 0, key_of(1), one);
    assert_true(profile_call_again(profile, 0, key_of(1), &again));
    assert_int_equal(again, node);
    assert_false(profile_call_again(profile, node, key_of(1), &again));
    assert_false(profile_call_again(profile, 0, key_of(2), &again));
    assert_encoded(profile, "{\"functions\":[[\"(engine)\",null,0],[\"one\",\"f.js\",1]],"
                            "\"nodes\":[[0,0,0,0,0],[0,1,2,0,0]],\"lines\":[[null,0,0,0]]}");
    profile_begin(profile);
    assert_false(profile_call_again(profile, 0, key_of(1), &again));
    profile_free(profile);
}

/* More of them than are remembered, in turns. */
static void calls_and_lines_are_not_mixed_up(void **state)
{
    enum { FUNCTIONS = 2000, TURNS = 3 };
    struct profile *profile = profile_new();

    (void)state;
    for (uint32_t i = 0; i < TURNS * FUNCTIONS; i++) {
        const uint32_t number = i % FUNCTIONS, function = named(profile, number + 1, "f");
        uint32_t node;

        if (!profile_call_again(profile, 0, key_of(number + 1), &node))
            node = profile_call(profile, 0, key_of(number + 1), function);
        assert_int_equal(node, number + 1);
        assert_int_equal(profile_line(profile, number % 7, number), number + 1);
    }
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_belong_to_chains),
        cmocka_unit_test(a_new_command_begins_at_nothing),
        cmocka_unit_test(many_functions_and_lines),
        cmocka_unit_test(calls_are_known_again),
        cmocka_unit_test(calls_and_lines_are_not_mixed_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
