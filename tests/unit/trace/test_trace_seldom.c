/* SPDX-License-Identifier: Apache-2.0 */
/* Whose times are read seldom: trace/ring/trace_seldom.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/memory.h"
#include "trace/ring/trace_seldom.h"

enum { FUNCTIONS = 9, COUNT = 4000 };

#define ENTRY(number, time) ((uint64_t)(time) << TRACE_TIME_SHIFT | (number) << 1)
#define EXIT(number, time)  (ENTRY(number, time) | 1)

static struct changes {
    unsigned count, number;
    bool seldom;
} changes;

static void changed(void *context, unsigned number, bool seldom)
{
    (void)context;
    changes.count++;
    changes.number = number;
    changes.seldom = seldom;
}

static void open_seldom(struct trace_seldom *seldom)
{
    struct error error;

    changes = (struct changes){0};
    assert_int_equal(trace_seldom_open(seldom, FUNCTIONS, &error), 0);
}

/* Calls of function 1, which take 10 ticks, 30 ticks after each other. `timed`: so many of their
 * last events have times, and the first. */
static void call_often(struct trace_seldom *seldom, uint64_t begin, size_t calls, size_t timed)
{
    static uint64_t events[COUNT];

    assert_true(2 * calls <= COUNT);
    for (size_t i = 0; i < calls; i++) {
        events[2 * i] = ENTRY(1, begin + 40 * i);
        events[2 * i + 1] = EXIT(1, begin + 40 * i + 10);
    }
    for (size_t i = 1; i + timed < 2 * calls; i++)
        events[i] &= 0xffff;
    trace_seldom_decide(seldom, events, 2 * calls, changed, NULL);
}

static void who_is_called_often_is_timed_seldom(void **state)
{
    struct trace_seldom seldom;

    (void)state;
    open_seldom(&seldom);
    call_often(&seldom, 1000, 511, COUNT);
    assert_int_equal(changes.count, 0);
    assert_int_equal(trace_seldom_calls(&seldom, 1), 0);
    call_often(&seldom, 100000, 100, COUNT);
    assert_int_equal(changes.count, 1);
    assert_int_equal(changes.number, 1);
    assert_true(changes.seldom);
    assert_int_equal(trace_seldom_calls(&seldom, 1), 100);
    trace_seldom_close(&seldom);
}

static void who_is_called_seldom_is_timed_always(void **state)
{
    const uint64_t events[] = {ENTRY(1, 1000000), EXIT(1, 2000000), ENTRY(1, 3000000),
                               EXIT(1, 4000000)};
    struct trace_seldom seldom;

    (void)state;
    open_seldom(&seldom);
    for (int i = 0; i < 1000; i++)
        trace_seldom_decide(&seldom, events, 4, changed, NULL);
    assert_int_equal(changes.count, 0);
    call_often(&seldom, 5000000, 600, COUNT);
    assert_true(changes.seldom);
    trace_seldom_decide(&seldom, events, 4, changed, NULL);
    assert_int_equal(changes.count, 2);
    assert_false(changes.seldom);
    /* It is told of all the same. */
    assert_int_equal(trace_seldom_calls(&seldom, 1), 91);
    call_often(&seldom, 9000000, 600, COUNT);
    assert_int_equal(changes.count, 3);
    assert_true(changes.seldom);
    trace_seldom_close(&seldom);
}

/* How dense a chunk is, is known from the events with times alone. */
static void what_has_no_time_decides_as_well(void **state)
{
    struct trace_seldom seldom;

    (void)state;
    open_seldom(&seldom);
    call_often(&seldom, 1000, 600, 64);
    assert_int_equal(changes.count, 1);
    call_often(&seldom, 100000, 600, 64);
    call_often(&seldom, 200000, 600, 1);
    assert_int_equal(changes.count, 1);
    assert_int_equal(trace_seldom_calls(&seldom, 1), 89 + 1200);
    trace_seldom_close(&seldom);
}

static void who_is_left_is_never_decided_about(void **state)
{
    struct trace_seldom seldom;

    (void)state;
    open_seldom(&seldom);
    trace_seldom_leave(&seldom, 1);
    call_often(&seldom, 1000, 2000, COUNT);
    assert_int_equal(changes.count, 0);
    trace_seldom_close(&seldom);
}

/* What the process writes there is not believed. */
static void numbers_of_no_function_are_passed_over(void **state)
{
    uint64_t events[600];
    struct trace_seldom seldom;

    (void)state;
    open_seldom(&seldom);
    for (size_t i = 0; i < 600; i++)
        events[i] = ENTRY(i % 2 == 0 ? FUNCTIONS + 1 : TRACE_UNWOUND, 1000 + i);
    trace_seldom_decide(&seldom, events, 600, changed, NULL);
    assert_int_equal(changes.count, 0);
    trace_seldom_close(&seldom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_called_often_is_timed_seldom),
        cmocka_unit_test(who_is_called_seldom_is_timed_always),
        cmocka_unit_test(what_has_no_time_decides_as_well),
        cmocka_unit_test(who_is_left_is_never_decided_about),
        cmocka_unit_test(numbers_of_no_function_are_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
