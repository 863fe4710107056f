/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "meter/costs/cost_table.h"

static struct cost_table parsed(const char *text)
{
    struct cost_table table;
    struct error error;

    assert_int_equal(cost_table_parse(&table, "a.table", text, strlen(text), &error), 0);
    return table;
}

static void expect_refusal(const char *text, const char *words)
{
    struct cost_table table;
    struct error error;

    assert_int_equal(cost_table_parse(&table, "a.table", text, strlen(text), &error), -1);
    assert_int_equal(error.kind, ERROR_INPUT);
    if (strstr(error.text, words) == NULL)
        fail_msg("no '%s' in: %s", words, error.text);
}

static void test_instructions(void **state)
{
    struct cost_table table = parsed("version 3\nbytes-per-unit 4\ninstruction default 2\n"
                                     "# a comment\ninstruction udiv 20 # and another\n");

    (void)state;
    assert_int_equal(table.version, 3);
    assert_int_equal(table.bytes_per_unit, 4);
    assert_int_equal(cost_of_instruction(&table, "udiv"), 20);
    assert_int_equal(cost_of_instruction(&table, "add"), 2);
    assert_int_equal(cost_of_instruction(&table, "udi"), 2);
    cost_table_free(&table);
}

static void test_longest_prefix_of_an_intrinsic(void **state)
{
    struct cost_table table = parsed("version 1\nbytes-per-unit 8\nintrinsic llvm.mem 7\n"
                                     "intrinsic llvm.memcpy. 1 bytes 2\n");
    const struct cost *cost = cost_of_intrinsic(&table, "llvm.memcpy.p0.p0.i64");

    (void)state;
    assert_int_equal(cost->fixed, 1);
    assert_int_equal(cost->bytes, COST_ARGUMENT);
    assert_int_equal(cost->first, 2);
    assert_int_equal(cost_of_intrinsic(&table, "llvm.memset.p0")->fixed, 7);
    assert_null(cost_of_intrinsic(&table, "llvm.sqrt.f64"));
    cost_table_free(&table);
}

static void test_calls_by_bytes_results_and_strings(void **state)
{
    struct cost_table table =
        parsed("version 1\nbytes-per-unit 8\ncall memcpy 1 bytes 2\ncall strlen 1 result\n"
               "call strdup 5 string 0\ncall strcmp 1 strings 0 1\ncall strncmp 1 strings 0 1 2\n"
               "call abs 1\ncall strcat 1 string 0 1\ncall strndup 1 text 0 1\n"
               "call strncat 1 string 0 1 2\n"
               "call strchr 1 reach 0\n");
    static const struct {
        const char *name;
        enum cost_bytes bytes;
        uint32_t first, second, third;
    } expected[] = {
        {"memcpy", COST_ARGUMENT, 2, 0, 0}, {"strlen", COST_RESULT, 0, 0, 0},
        {"strdup", COST_STRING, 0, 0, 0},   {"strcmp", COST_STRINGS, 0, 1, 0},
        {"strncmp", COST_LIMITED, 0, 1, 2}, {"abs", COST_FIXED, 0, 0, 0},
        {"strcat", COST_PAIR, 0, 1, 0},     {"strndup", COST_TEXT, 0, 1, 0},
        {"strchr", COST_REACH, 0, 0, 0},    {"strncat", COST_APPEND, 0, 1, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct cost *cost = cost_of_call(&table, expected[i].name);

        assert_non_null(cost);
        assert_int_equal(cost->bytes, expected[i].bytes);
        assert_int_equal(cost->first, expected[i].first);
        assert_int_equal(cost->second, expected[i].second);
        assert_int_equal(cost->third, expected[i].third);
    }
    assert_null(cost_of_call(&table, "printf"));
    cost_table_free(&table);
}

static void test_the_hash_is_of_the_text(void **state)
{
    struct cost_table one = parsed("version 1\nbytes-per-unit 8\n");
    struct cost_table same = parsed("version 1\nbytes-per-unit 8\n");
    struct cost_table other = parsed("version 1\nbytes-per-unit 8\n#\n");

    (void)state;
    assert_int_equal(strlen(one.hash), 64);
    assert_string_equal(one.hash, same.hash);
    assert_string_not_equal(one.hash, other.hash);
    cost_table_free(&one);
    cost_table_free(&same);
    cost_table_free(&other);
}

static void test_the_builtin_table(void **state)
{
    struct cost_table table;
    struct error error;

    (void)state;
    assert_int_equal(
        cost_table_parse(&table, "built-in", cost_table_builtin, cost_table_builtin_length, &error),
        0);
    assert_int_equal(cost_of_instruction(&table, "add"), 1);
    assert_int_equal(cost_of_instruction(&table, "phi"), 0);
    assert_int_equal(cost_of_instruction(&table, "sext"), 0);
    assert_int_equal(cost_of_intrinsic(&table, "llvm.dbg.declare")->fixed, 0);
    assert_int_equal(cost_of_intrinsic(&table, "llvm.memset.p0.i64")->bytes, COST_ARGUMENT);
    assert_int_equal(cost_of_call(&table, "strlen")->bytes, COST_RESULT);
    cost_table_free(&table);
}

static void test_what_is_refused(void **state)
{
    struct cost_table table;
    struct error error;

    (void)state;
    expect_refusal("", "version");
    expect_refusal("version 1\n", "bytes-per-unit");
    expect_refusal("version 0\nbytes-per-unit 8\n", "above 0");
    expect_refusal("version 1\nbytes-per-unit 8\ninstruction add x\n", "a.table:3");
    expect_refusal("version 1\nbytes-per-unit 8\ninstruction add -1\n", "a.table:3");
    expect_refusal("version 1\nbytes-per-unit 8\ninstruction add 1000001\n", "a.table:3");
    expect_refusal("version 1\nbytes-per-unit 8\ninstruction add\n", "a.table:3");
    expect_refusal("version 1\nbytes-per-unit 8\nnonsense add 1\n", "a.table:3");
    expect_refusal("version 1\nbytes-per-unit 8\ncall f 1 bytes\n", "a.table:3");
    expect_refusal("version 1\nbytes-per-unit 8\ncall f 1 strings 0\n", "a.table:3");
    expect_refusal("version 1\nbytes-per-unit 8\ncall f 1 2 3 4 5 6 7 8 9\n", "too many words");
    assert_int_equal(cost_table_parse(&table, "a.table", "version\0 1", 10, &error), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_longest_prefix_of_an_intrinsic),
        cmocka_unit_test(test_calls_by_bytes_results_and_strings),
        cmocka_unit_test(test_the_hash_is_of_the_text),
        cmocka_unit_test(test_the_builtin_table),
        cmocka_unit_test(test_what_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
