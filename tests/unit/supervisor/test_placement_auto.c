/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/process/placement/placement_auto.h"

#define MICROSECONDS INT64_C(1000)
#define MILLISECONDS INT64_C(1000000)

/* A day at the pipe: its clock, and what a frame waits on each side. */
struct day {
    struct placement_auto state;
    int64_t now;
    int64_t frame[2]; /* nanoseconds, by enum placement_side */
    int in_flight;
    const char *reason;
};

static struct day begin_day(void)
{
    return (struct day){
        .now = 1000 * MILLISECONDS,
        .frame = {[PLACEMENT_APART] = 25 * MICROSECONDS, [PLACEMENT_TOGETHER] = 3 * MICROSECONDS},
        .in_flight = 1,
    };
}

/* One delivery of so many frames and so much time beside. True when they are to move. */
static bool deliver(struct day *day, int64_t frames, int64_t work)
{
    struct placement_observation seen = {
        .waited = frames * day->frame[day->state.side],
        .frames = frames,
        .in_flight = day->in_flight,
    };

    day->now += seen.waited + work;
    seen.now = day->now;
    return placement_auto_observe(&day->state, &seen, &day->reason);
}

/* How often they moved in so much time of short deliveries. */
static int moves_in(struct day *day, int64_t time)
{
    int64_t end = day->now + time;
    int moves = 0;

    while (day->now < end)
        moves += deliver(day, 4, 20 * MICROSECONDS);
    return moves;
}

static void the_first_delivery_brings_them_together_and_they_stay(void **state)
{
    struct day day = begin_day();

    (void)state;
    assert_int_equal(day.state.side, PLACEMENT_APART);
    assert_true(deliver(&day, 2, 0));
    assert_int_equal(day.state.side, PLACEMENT_TOGETHER);
    assert_string_equal(day.reason, "one delivery is in flight");
    assert_int_equal(moves_in(&day, 10000 * MILLISECONDS), 0);
}

static void several_in_flight_part_them_until_one_is_alone(void **state)
{
    struct day day = begin_day();

    (void)state;
    day.in_flight = 2;
    assert_int_equal(moves_in(&day, 100 * MILLISECONDS), 0);
    day.in_flight = 1;
    assert_true(deliver(&day, 2, 0));
    day.in_flight = 3;
    assert_true(deliver(&day, 2, 0));
    assert_int_equal(day.state.side, PLACEMENT_APART);
    assert_string_equal(day.reason, "several deliveries are in flight");
    assert_int_equal(moves_in(&day, 100 * MILLISECONDS), 0);
    day.in_flight = 1;
    assert_true(deliver(&day, 2, 0));
    assert_int_equal(day.state.side, PLACEMENT_TOGETHER);
}

static void one_bad_window_is_not_enough(void **state)
{
    struct day day = begin_day();

    (void)state;
    deliver(&day, 2, 0);
    assert_int_equal(moves_in(&day, 100 * MILLISECONDS), 0);
    day.frame[PLACEMENT_TOGETHER] = 1 * MILLISECONDS;
    assert_false(deliver(&day, 64, 0)); /* a whole window */
    day.frame[PLACEMENT_TOGETHER] = 3 * MICROSECONDS;
    assert_int_equal(moves_in(&day, 1000 * MILLISECONDS), 0);
}

static void waiting_longer_than_apart_parts_them(void **state)
{
    struct day day = begin_day();

    (void)state;
    deliver(&day, 2, 0);
    day.frame[PLACEMENT_TOGETHER] = 1 * MILLISECONDS;
    while (!deliver(&day, 4, 0))
        assert_true(day.now < 2000 * MILLISECONDS);
    assert_int_equal(day.state.side, PLACEMENT_APART);
    assert_string_equal(day.reason, "together waiting took longer than apart");
}

/* Somebody else is on that processor for good: trials become rarer, up to one a minute. */
static void trials_that_fail_become_rare(void **state)
{
    struct day day = begin_day();
    int first, second, last;

    (void)state;
    day.frame[PLACEMENT_TOGETHER] = 1 * MILLISECONDS;
    first = moves_in(&day, 10000 * MILLISECONDS);
    second = moves_in(&day, 10000 * MILLISECONDS);
    assert_true(first >= 4 && second >= 1 && second < first);
    (void)moves_in(&day, 600000 * MILLISECONDS);
    last = moves_in(&day, 600000 * MILLISECONDS);
    assert_in_range(last, 18, 20);
    assert_int_equal(day.state.side, PLACEMENT_APART);
}

static void when_the_other_has_gone_the_next_trial_stands(void **state)
{
    struct day day = begin_day();

    (void)state;
    day.frame[PLACEMENT_TOGETHER] = 1 * MILLISECONDS;
    (void)moves_in(&day, 5000 * MILLISECONDS);
    day.frame[PLACEMENT_TOGETHER] = 3 * MICROSECONDS;
    (void)moves_in(&day, 60000 * MILLISECONDS);
    assert_int_equal(day.state.side, PLACEMENT_TOGETHER);
    assert_int_equal(day.state.trial_after, 0);
    assert_int_equal(moves_in(&day, 60000 * MILLISECONDS), 0);
}

/* Apart is measured, not assumed: where all are busy, being together is no worse. */
static void where_apart_is_as_bad_they_stay_together(void **state)
{
    struct day day = begin_day();

    (void)state;
    day.frame[PLACEMENT_TOGETHER] = day.frame[PLACEMENT_APART] = 2 * MILLISECONDS;
    (void)moves_in(&day, 5000 * MILLISECONDS);
    assert_int_equal(day.state.side, PLACEMENT_TOGETHER);
    assert_int_equal(moves_in(&day, 60000 * MILLISECONDS), 0);
}

/* Rare and long ones are judged too: a window need not have many frames. */
static void long_deliveries_are_judged_after_a_while(void **state)
{
    struct day day = begin_day();
    int deliveries = 0;

    (void)state;
    deliver(&day, 2, 0);
    day.frame[PLACEMENT_TOGETHER] = 10 * MILLISECONDS;
    while (!deliver(&day, 2, 30 * MILLISECONDS))
        assert_true(++deliveries < 10);
    assert_int_equal(day.state.side, PLACEMENT_APART);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_delivery_brings_them_together_and_they_stay),
        cmocka_unit_test(several_in_flight_part_them_until_one_is_alone),
        cmocka_unit_test(one_bad_window_is_not_enough),
        cmocka_unit_test(waiting_longer_than_apart_parts_them),
        cmocka_unit_test(trials_that_fail_become_rare),
        cmocka_unit_test(when_the_other_has_gone_the_next_trial_stands),
        cmocka_unit_test(where_apart_is_as_bad_they_stay_together),
        cmocka_unit_test(long_deliveries_are_judged_after_a_while),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
