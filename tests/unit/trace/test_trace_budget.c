/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/read/trace_budget.h"

enum { EVENT_COST = 10, /* nanoseconds */ FUNCTIONS = 3 };

/* Calls of a function: as many entries as exits. */
static void add_calls(struct trace_budget *budget, uint64_t number, size_t calls)
{
    const uint64_t events[] = {number << 1, number << 1 | 1};

    for (size_t i = 0; i < calls; i++)
        trace_budget_add(budget, events, 2);
}

static void open_budget(struct trace_budget *budget, double share)
{
    struct error error;

    assert_int_equal(trace_budget_open(budget, share, FUNCTIONS, &error), 0);
    budget->event_cost = EVENT_COST;
    add_calls(budget, 1, 1000);
    add_calls(budget, 2, 20000);
    add_calls(budget, 3, 5000);
    assert_true(trace_budget_is_due(budget));
}

/* 52,000 events of 10 ns, in a process that has used so much by itself. */
static struct trace_spent spent_beside(int64_t own)
{
    return (struct trace_spent){.process = own + 52000 * EVENT_COST};
}

static void test_within(void **state)
{
    struct trace_budget budget;
    const uint32_t *chosen;

    (void)state;
    open_budget(&budget, 0.05);
    /* 5 % of 10.4 ms are 0.52 ms. */
    assert_int_equal(trace_budget_decide(&budget, spent_beside(10400001), &chosen), 0);
    assert_false(trace_budget_is_due(&budget));
    trace_budget_close(&budget);
}

static void test_most_called_first(void **state)
{
    struct trace_budget budget;
    const uint32_t *chosen;

    (void)state;
    open_budget(&budget, 0.05);
    assert_int_equal(trace_budget_decide(&budget, spent_beside(5000000), &chosen), 1);
    assert_int_equal(chosen[0], 2);
    trace_budget_close(&budget);

    open_budget(&budget, 0.05);
    assert_int_equal(trace_budget_decide(&budget, spent_beside(500000), &chosen), 2);
    assert_int_equal(chosen[0], 2);
    assert_int_equal(chosen[1], 3);
    trace_budget_close(&budget);
}

/* A process that is faster than its reader waits for it. */
static void test_slow_reader(void **state)
{
    struct trace_spent spent = spent_beside(10400001);
    struct trace_budget budget;
    const uint32_t *chosen;

    (void)state;
    spent.reader = INT64_C(52000) * EVENT_COST * 2;
    open_budget(&budget, 0.05);
    assert_int_equal(trace_budget_decide(&budget, spent, &chosen), 1);
    trace_budget_close(&budget);
}

/* Whatever the clocks say, it comes to an end. */
static void test_no_time(void **state)
{
    struct trace_budget budget;
    const uint32_t *chosen;

    (void)state;
    open_budget(&budget, 10);
    assert_int_equal(trace_budget_decide(&budget, (struct trace_spent){0}, &chosen), 3);
    trace_budget_close(&budget);
}

static void test_words(void **state)
{
    struct planned_function functions[FUNCTIONS] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
    const struct patch_plan plan = {.functions = functions, .count = FUNCTIONS};
    struct trace_budget budget;
    const uint32_t *chosen;
    struct buf words = {0};

    (void)state;
    open_budget(&budget, 0.05);
    trace_budget_put(&budget, &plan, &words);
    assert_int_equal(words.length, 0);
    (void)trace_budget_decide(&budget, spent_beside(500000), &chosen);
    trace_budget_put(&budget, &plan, &words);
    assert_string_equal(buf_string(&words),
                        "2 functions left out to keep the overhead, the most called: "
                        "b after 20000 calls, c after 5000 calls");
    buf_free(&words);
    trace_budget_close(&budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_within),      cmocka_unit_test(test_most_called_first),
        cmocka_unit_test(test_slow_reader), cmocka_unit_test(test_no_time),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
