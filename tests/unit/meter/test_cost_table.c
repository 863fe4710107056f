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
    assert_string_equal(cost->terms[0].kind->word, "bytes");
    assert_int_equal(cost->terms[0].arguments[0], 2);
    assert_int_equal(cost_of_intrinsic(&table, "llvm.memset.p0")->fixed, 7);
    assert_null(cost_of_intrinsic(&table, "llvm.sqrt.f64"));
    cost_table_free(&table);
}

static void test_calls_by_terms(void **state)
{
    struct cost_table table = parsed(
        "version 1\nbytes-per-unit 8\ncall memcpy 1 bytes 2\ncall strlen 1 result\n"
        "call strdup 5 string 0\ncall strcmp 1 strings 0 1\ncall strncmp 1 strings 0 1 2\n"
        "call abs 1\ncall strncat 1 string 0 text 1 2\n"
        "call strstr 1 reach 0 string 1\ncall fread 1 leaves items 1\ncall regexec 1 uncounted\n"
        "call exit 1 leaves\n");
    static const struct {
        const char *name;
        size_t terms;
        const char *first, *last;
        bool leaves, uncounted;
    } expected[] = {
        {"memcpy", 1, "bytes", "bytes", false, false},
        {"strlen", 1, "result", "result", false, false},
        {"strcmp", 1, "strings", "strings", false, false},
        {"strncat", 2, "string", "text", false, false},
        {"strstr", 2, "reach", "string", false, false},
        {"fread", 1, "items", "items", true, false},
        {"abs", 0, NULL, NULL, false, false},
        {"regexec", 0, NULL, NULL, false, true},
        {"exit", 0, NULL, NULL, true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct cost *cost = cost_of_call(&table, expected[i].name);

        assert_non_null(cost);
        assert_int_equal(cost->term_count, expected[i].terms);
        assert_int_equal(cost->leaves, expected[i].leaves);
        assert_int_equal(cost->uncounted, expected[i].uncounted);
        if (cost->term_count > 0) {
            assert_string_equal(cost->terms[0].kind->word, expected[i].first);
            assert_string_equal(cost->terms[cost->term_count - 1].kind->word, expected[i].last);
        }
    }
    assert_int_equal(cost_of_call(&table, "strncmp")->terms[0].arguments[2], 2);
    assert_int_equal(cost_of_call(&table, "strncat")->terms[1].arguments[1], 2);
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
    assert_string_equal(cost_of_intrinsic(&table, "llvm.memset.p0.i64")->terms[0].kind->word,
                        "bytes");
    assert_string_equal(cost_of_call(&table, "strlen")->terms[0].kind->word, "result");
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
    expect_refusal("version 1\nbytes-per-unit 8\ncall f 1 uncounted bytes 1\n", "a.table:3");
    expect_refusal("version 1\nbytes-per-unit 8\ncall f 1 result bytes 1 bytes 2\n", "a.table:3");
    expect_refusal("version 1\nbytes-per-unit 8\ncall f 1 2 3 4 5 6 7 8 9\n", "too many words");
    assert_int_equal(cost_table_parse(&table, "a.table", "version\0 1", 10, &error), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_longest_prefix_of_an_intrinsic),
        cmocka_unit_test(test_calls_by_terms),
        cmocka_unit_test(test_the_hash_is_of_the_text),
        cmocka_unit_test(test_the_builtin_table),
        cmocka_unit_test(test_what_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
