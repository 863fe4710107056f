/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/read/trace_budget.h"

enum { SECOND = 1000000000, ZERO = 5 };

static const char *name_of(void *context, uint32_t function)
{
    static const char *const names[] = {"?", "a", "b"};

    (void)context;
    return names[function];
}

static uint64_t calls_of(void *context, uint32_t function)
{
    (void)context;
    return 1000 * (uint64_t)function;
}

static const struct trace_exclusion_words words = {name_of, calls_of, NULL, ZERO};

static void note(struct trace_exclusions *exclusions, uint32_t process, uint32_t function,
                 int64_t milliseconds)
{
    struct error error;

    assert_int_equal(trace_exclusions_add(exclusions, process, function,
                                          ZERO + milliseconds * (SECOND / 1000), &error),
                     0);
}

static void assert_words(const struct trace_exclusions *exclusions, uint32_t process,
                         const char *expected)
{
    struct buf out = {0};
    struct error error;

    assert_int_equal(trace_exclusions_put(exclusions, process, &words, &out, &error), 0);
    assert_string_equal(buf_string(&out), expected);
    buf_free(&out);
}

static void names_each_function_once_the_most_called_first(void **state)
{
    struct trace_exclusions exclusions = {0};

    (void)state;
    assert_words(&exclusions, 0, "");
    note(&exclusions, 0, 1, 10);
    note(&exclusions, 0, 1, 11); /* it is out already */
    note(&exclusions, 0, 2, 20);
    note(&exclusions, 7, 1, 40);
    assert_words(&exclusions, 0,
                 "2 functions left out to keep the overhead, the most called: "
                 "b after 2000 calls (from 0.020 s on), a after 1000 calls (from 0.010 s on)");
    assert_words(&exclusions, 7,
                 "1 function left out to keep the overhead, the most called: "
                 "a after 1000 calls (from 0.040 s on)");
    assert_words(&exclusions, 1, "");
    trace_exclusions_free(&exclusions);
}

static void test_json(void **state)
{
    struct trace_exclusions exclusions = {0};
    struct buf out = {0};
    struct error error;

    (void)state;
    note(&exclusions, 3, 1, 10);
    assert_int_equal(trace_exclusions_put_json(&exclusions, 3, "p:\"q\"", &words, &out, &error), 0);
    assert_string_equal(buf_string(&out),
                        "{\"kind\":\"leftOut\",\"process\":\"p:\\\"q\\\"\",\"function\":\"a\","
                        "\"periods\":[[0.010000000,null]]}\n");
    buf_free(&out);
    trace_exclusions_free(&exclusions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_each_function_once_the_most_called_first),
        cmocka_unit_test(test_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
