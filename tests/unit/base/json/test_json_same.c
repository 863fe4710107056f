/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/json/json_same.h"

/* A text followed by the padding that scanning needs. */
static struct scan_span padded(const char *text, size_t length)
{
    char *bytes = test_calloc(1, length + SCAN_PADDING);

    memcpy(bytes, text, length);
    return (struct scan_span){bytes, length};
}

static bool same_bytes(const char *left, size_t left_length, const char *right, size_t right_length)
{
    struct scan_span one = padded(left, left_length), other = padded(right, right_length);
    bool same = json_same(one, other);

    assert_int_equal(json_same(other, one), same);
    test_free((char *)one.at);
    test_free((char *)other.at);
    return same;
}

static bool same(const char *left, const char *right)
{
    return same_bytes(left, strlen(left), right, strlen(right));
}

static void ways_of_writing_are_the_same(void **state)
{
    (void)state;
    assert_true(same("[\"a\",1,null]", "[\"a\",1,null]"));
    assert_true(same("{\"a\":1,\"b\":[2]}", " { \"b\" : [ 2 ] , \"a\" : 1 } "));
    assert_true(same("\"\\u00e9\\/\\n\"", "\"\xc3\xa9/\\u000a\""));
    assert_true(same("\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""));
    assert_true(same("{\"\\u0061\":1}", "{\"a\":1}"));
    assert_true(same("[1e2,10]", "[100,1.0e1]"));
    assert_true(same("[]", "[ ]"));
    assert_true(same("{\"a\":{},\"a\":[0]}", "{\"a\":1,\"a\":[ 0 ]}"));
}

static void other_values_differ(void **state)
{
    static const char *const pairs[][2] = {
        {"[\"a\"]", "[\"b\"]"},
        {"[1,2]", "[2,1]"},
        {"[1]", "[1,2]"},
        {"[]", "{}"},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}"},
        {"{\"a\":1}", "{\"b\":1}"},
        {"{\"a\":1,\"a\":1}", "{\"a\":1,\"b\":1}"},
        {"{\"a\":{},\"a\":{}}", "{\"a\":{},\"a\":[0]}"},
        {"null", "false"},
        {"1", "\"1\""},
        {"\"\"", "\" \""},
        {"9007199254740992", "9007199254740994"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_false(same(pairs[i][0], pairs[i][1]));
}

static void text_that_strict_parsers_refuse_is_compared(void **state)
{
    (void)state;
    assert_true(same("[\"\\u0000\"]", "[ \"\\u0000\" ]"));
    assert_false(same("[\"\\u0000\"]", "[\"\"]"));
    assert_true(same("[\"\\ud800\"]", "[ \"\\uD800\"]"));
    assert_false(same("[\"\\ud800\"]", "[\"\\ud801\"]"));
    assert_false(same("[\"\\ud800\"]", "[\"\\ufffd\"]"));
    assert_true(same_bytes("[\"\0\"]", 5, "[\"\\u0000\"]", 10));
}

static void invalid_json_compares_by_its_bytes(void **state)
{
    (void)state;
    assert_true(same("[1", "[1"));
    assert_false(same("[1", "[1]"));
    assert_false(same("", "[]"));
    assert_true(same("", " "));
    assert_false(same("\"\\u12\"", "\"\\u1\""));
    assert_false(same("\"\xc3\"", "\"\xc4\""));
    assert_false(same("\"", "\"a\""));
    assert_false(same("\"ab", "\"ac"));
    assert_false(same("\"a\"b\"", "\"a\\\"b\""));
    assert_false(same("[1] x", "[1] y"));
    assert_false(same("{} x", "{}"));
}

/* Deeper than is followed: by bytes alone. */
static void depth_is_bounded(void **state)
{
    enum { DEEP = 100000 };
    char *left = malloc(DEEP + 3), *right = malloc(DEEP + 3);

    (void)state;
    memset(left, '[', DEEP);
    memset(right, '[', DEEP);
    memcpy(left + DEEP, "1 ", 3);
    memcpy(right + DEEP, " 1", 3);
    assert_false(same(left, right));
    assert_true(same(left, left));
    free(left);
    free(right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_of_writing_are_the_same),
        cmocka_unit_test(other_values_differ),
        cmocka_unit_test(text_that_strict_parsers_refuse_is_compared),
        cmocka_unit_test(invalid_json_compares_by_its_bytes),
        cmocka_unit_test(depth_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
