/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/memory.h"
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
    /* 5 % of 20.8 ms are twice 0.52 ms. */
    assert_int_equal(trace_budget_decide(&budget, spent_beside(20800001), &chosen), 0);
    assert_false(trace_budget_is_due(&budget));
    trace_budget_close(&budget);
}

static void test_most_called_first(void **state)
{
    struct trace_budget budget;
    const uint32_t *chosen;

    (void)state;
    open_budget(&budget, 0.05);
    assert_int_equal(trace_budget_decide(&budget, spent_beside(10000000), &chosen), 1);
    assert_int_equal(chosen[0], 2);
    trace_budget_close(&budget);

    open_budget(&budget, 0.05);
    assert_int_equal(trace_budget_decide(&budget, spent_beside(1000000), &chosen), 2);
    assert_int_equal(chosen[0], 2);
    assert_int_equal(chosen[1], 3);
    trace_budget_close(&budget);
}

/* A process that is faster than its reader waits for it. */
static void test_slow_reader(void **state)
{
    struct trace_spent spent = spent_beside(20800001);
    struct trace_budget budget;
    const uint32_t *chosen;

    (void)state;
    spent.reader = INT64_C(52000) * EVENT_COST * 2;
    open_budget(&budget, 0.05);
    assert_int_equal(trace_budget_decide(&budget, spent, &chosen), 1);
    trace_budget_close(&budget);
}

/* Among functions called equally often, those called at intervals cost more: their callers have
 * left the cache. */
static void test_cold(void **state)
{
    struct trace_budget budget;
    const uint32_t *chosen;
    struct error error;

    (void)state;
    assert_int_equal(trace_budget_open(&budget, 0.05, FUNCTIONS, &error), 0);
    budget.event_cost = EVENT_COST;
    budget.cold_cost = 50 * EVENT_COST;
    budget.cold_after = 1000;
    for (uint64_t i = 1; i <= 1000; i++) {
        const uint64_t often = i << TRACE_TIME_SHIFT | 1 << 1;
        const uint64_t sampled = i * 2000 << TRACE_TIME_SHIFT | 2 << 1;

        trace_budget_add(&budget, &often, 1);
        trace_budget_add(&budget, &sampled, 1);
    }
    assert_int_equal(budget.functions[1].cold, 0);
    assert_int_equal(budget.functions[2].cold, 1000);
    /* 2,000 events of 10 ns would be within half of 5 %; a thousand calls of 500 ns are not. */
    assert_int_equal(
        trace_budget_decide(&budget, (struct trace_spent){.process = 5000000}, &chosen), 1);
    assert_int_equal(chosen[0], 2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_within),      cmocka_unit_test(test_most_called_first),
        cmocka_unit_test(test_slow_reader), cmocka_unit_test(test_cold),
        cmocka_unit_test(test_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
