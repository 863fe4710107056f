/* SPDX-License-Identifier: Apache-2.0 */
/* Times of events that were not read: trace/read/trace_times.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/memory.h"
#include "trace/read/trace_times.h"

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

static void open_times(struct trace_times *times)
{
    struct error error;

    changes = (struct changes){0};
    assert_int_equal(trace_times_open(times, FUNCTIONS, 2, &error), 0);
}

static uint64_t time_of(uint64_t event)
{
    return event >> TRACE_TIME_SHIFT;
}

/* Calls of function 1, which take 10 ticks, 30 ticks after each other. Behind the last of them. */
static uint64_t call_often(struct trace_times *times, uint64_t begin, size_t calls)
{
    static uint64_t events[COUNT];

    assert_true(2 * calls <= COUNT);
    for (size_t i = 0; i < calls; i++) {
        events[2 * i] = ENTRY(1, begin + 40 * i);
        events[2 * i + 1] = EXIT(1, begin + 40 * i + 10);
    }
    trace_times_fill(times, 0, events, 2 * calls);
    trace_times_decide(times, events, 2 * calls, changed, NULL);
    return begin + 40 * calls;
}

static void times_that_were_read_stay(void **state)
{
    const uint64_t events[] = {ENTRY(1, 100), ENTRY(2, 150), EXIT(2, 170), EXIT(1, 900)};
    uint64_t filled[4];
    struct trace_times times;

    (void)state;
    open_times(&times);
    memcpy(filled, events, sizeof events);
    trace_times_fill(&times, 0, filled, 4);
    assert_memory_equal(filled, events, sizeof events);
    trace_times_close(&times);
}

static void who_is_called_often_is_timed_seldom(void **state)
{
    struct trace_times times;
    struct buf words = {0};
    struct planned_function function = {.name = "f"};
    const struct patch_plan plan = {.functions = &function, .count = 1};

    (void)state;
    open_times(&times);
    call_often(&times, 1000, 511);
    assert_int_equal(changes.count, 0);
    trace_times_put(&times, &plan, &words);
    assert_int_equal(words.length, 0);
    call_often(&times, 100000, 100);
    assert_int_equal(changes.count, 1);
    assert_int_equal(changes.number, 1);
    assert_true(changes.seldom);
    trace_times_put(&times, &plan, &words);
    assert_non_null(strstr(buf_string(&words), "1 functions"));
    assert_non_null(strstr(buf_string(&words), ": f"));
    buf_free(&words);
    trace_times_close(&times);
}

static void who_is_called_seldom_is_timed_always(void **state)
{
    uint64_t events[] = {ENTRY(1, 1000000), EXIT(1, 2000000), ENTRY(1, 3000000), EXIT(1, 4000000)};
    struct trace_times times;

    (void)state;
    open_times(&times);
    for (int i = 0; i < 1000; i++) {
        trace_times_fill(&times, 0, events, 4);
        trace_times_decide(&times, events, 4, changed, NULL);
    }
    assert_int_equal(changes.count, 0);
    call_often(&times, 5000000, 600);
    assert_true(changes.seldom);
    trace_times_decide(&times, events, 4, changed, NULL);
    assert_int_equal(changes.count, 2);
    assert_false(changes.seldom);
    trace_times_close(&times);
}

static void who_is_left_is_never_decided_about(void **state)
{
    struct trace_times times;

    (void)state;
    open_times(&times);
    trace_times_leave(&times, 1);
    call_often(&times, 1000, 2000);
    assert_int_equal(changes.count, 0);
    trace_times_close(&times);
}

/* What has passed is divided as it was where all was timed, 10 to 30. */
static void times_are_estimated_from_those_measured(void **state)
{
    struct trace_times times;
    uint64_t events[] = {ENTRY(1, 0), EXIT(1, 0), ENTRY(1, 0), EXIT(1, 0), ENTRY(1, 0)};
    uint64_t begin;

    (void)state;
    open_times(&times);
    (void)call_often(&times, 1000, 600);
    begin = call_often(&times, 1000000, 2000) - 30;
    /* Twice as long as expected. */
    events[4] = ENTRY(1, begin + 2 * (30 + 10 + 30 + 10 + 30));
    trace_times_fill(&times, 0, events, 5);
    assert_in_range(time_of(events[0]), begin + 55, begin + 65);
    assert_in_range(time_of(events[1]), begin + 75, begin + 85);
    assert_in_range(time_of(events[2]), begin + 135, begin + 145);
    assert_in_range(time_of(events[3]), begin + 155, begin + 165);
    assert_int_equal(time_of(events[4]), begin + 220);
    assert_int_equal(events[1] & 0xffff, EXIT(1, 0));
    trace_times_close(&times);
}

/* The wait is the new gap's, not that of the calls around it. */
static void a_long_time_is_where_nothing_is_known(void **state)
{
    struct trace_times times;
    uint64_t events[] = {ENTRY(1, 0), EXIT(1, 0), ENTRY(2, 0), ENTRY(1, 0), EXIT(1, 0)};
    uint64_t begin;

    (void)state;
    open_times(&times);
    (void)call_often(&times, 1000, 600);
    begin = call_often(&times, 1000000, 2000) - 30;
    events[4] = EXIT(1, begin + 100000);
    trace_times_fill(&times, 0, events, 5);
    assert_in_range(time_of(events[1]), begin + 30, begin + 50);
    assert_in_range(time_of(events[2]), begin + 49000, begin + 51000);
    assert_in_range(time_of(events[3]), begin + 99980, begin + 99995);
    trace_times_close(&times);
}

static void lights_take_no_time(void **state)
{
    struct trace_times times;
    uint64_t events[] = {ENTRY(1, 500), ENTRY(2, TRACE_TIME_WHOLE), EXIT(2, TRACE_TIME_WHOLE),
                         EXIT(1, 900),  ENTRY(2, TRACE_TIME_WHOLE), EXIT(2, TRACE_TIME_WHOLE)};

    (void)state;
    open_times(&times);
    trace_times_fill(&times, 0, events, 6);
    assert_int_equal(time_of(events[1]), 500);
    assert_int_equal(time_of(events[2]), 500);
    assert_int_equal(time_of(events[5]), 900);
    trace_times_close(&times);
}

/* Each lane by itself; after a loss, and at first, there is no time to begin with. */
static void what_was_before_may_not_be_known(void **state)
{
    struct trace_times times;
    uint64_t first[] = {ENTRY(1, 0), EXIT(1, 0), ENTRY(2, 700), EXIT(2, 800)};
    uint64_t lost[] = {ENTRY(TRACE_LOST, 12), ENTRY(1, 0), EXIT(1, 2000)};

    (void)state;
    open_times(&times);
    trace_times_fill(&times, 1, first, 4);
    assert_int_equal(time_of(first[0]), 700);
    assert_int_equal(time_of(first[1]), 700);
    trace_times_fill(&times, 1, lost, 3);
    assert_int_equal(lost[0], ENTRY(TRACE_LOST, 12));
    assert_int_equal(time_of(lost[1]), 2000);
    trace_times_close(&times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_that_were_read_stay),
        cmocka_unit_test(who_is_called_often_is_timed_seldom),
        cmocka_unit_test(who_is_called_seldom_is_timed_always),
        cmocka_unit_test(who_is_left_is_never_decided_about),
        cmocka_unit_test(times_are_estimated_from_those_measured),
        cmocka_unit_test(a_long_time_is_where_nothing_is_known),
        cmocka_unit_test(lights_take_no_time),
        cmocka_unit_test(what_was_before_may_not_be_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
