/* SPDX-License-Identifier: Apache-2.0 */
/* Times of events that were not read: trace/events/trace_times.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/events/trace_times.h"
#include "trace/memory.h"

enum { COUNT = 4000 };

#define ENTRY(number, time) ((uint64_t)(time) << TRACE_TIME_SHIFT | (number) << 1)
#define EXIT(number, time)  (ENTRY(number, time) | 1)

static void open_times(struct trace_times *times)
{
    struct error error;

    assert_int_equal(trace_times_open(times, 2, &error), 0);
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

static uint64_t estimated_of(void *context, uint32_t number)
{
    return ((const struct trace_times *)context)->estimated[number];
}

static const char *name_of(void *context, uint32_t number)
{
    static const char *const names[] = {"f", "g", "h"};

    (void)context;
    return names[number - 1];
}

/* The most called first; calls that take no time are not estimated. */
static void who_was_estimated_is_told(void **state)
{
    uint64_t events[] = {ENTRY(1, 500), ENTRY(3, 0), EXIT(3, 0), ENTRY(2, 0),
                         EXIT(2, 0),    ENTRY(3, 0), EXIT(3, 0), EXIT(1, 900)};
    const uint64_t light[] = {ENTRY(1, TRACE_TIME_WHOLE), EXIT(1, TRACE_TIME_WHOLE)};
    uint64_t filled[] = {light[0], light[1]};
    struct trace_times times;
    const struct trace_times_words words = {estimated_of, name_of, &times, 3};
    struct buf out = {0};

    (void)state;
    open_times(&times);
    trace_times_fill(&times, 0, filled, 2);
    trace_times_put(&words, &out);
    assert_int_equal(out.length, 0);
    trace_times_fill(&times, 0, events, 8);
    trace_times_put(&words, &out);
    assert_non_null(strstr(buf_string(&out), "2 functions"));
    assert_non_null(strstr(buf_string(&out), ": h, g"));
    assert_null(strstr(buf_string(&out), ", f"));
    buf_free(&out);
    trace_times_close(&times);
}

/* What lies between chunks is as what lies within one. */
static void chunks_may_come_together(void **state)
{
    uint64_t together[80], apart[80];
    struct trace_times times;

    (void)state;
    for (size_t i = 0; i < 80; i++)
        together[i] = ENTRY(1 + i / 2 % 3, i % 8 < 5 && i % 40 > 0 ? 0 : 1000 + i * i) | (i & 1);
    memcpy(apart, together, sizeof apart);
    open_times(&times);
    trace_times_fill(&times, 0, together, 80);
    trace_times_close(&times);
    open_times(&times);
    trace_times_fill(&times, 0, apart, 40);
    trace_times_fill(&times, 0, apart + 40, 40);
    trace_times_close(&times);
    assert_memory_equal(together, apart, sizeof apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_that_were_read_stay),
        cmocka_unit_test(times_are_estimated_from_those_measured),
        cmocka_unit_test(a_long_time_is_where_nothing_is_known),
        cmocka_unit_test(lights_take_no_time),
        cmocka_unit_test(what_was_before_may_not_be_known),
        cmocka_unit_test(who_was_estimated_is_told),
        cmocka_unit_test(chunks_may_come_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
