/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/schedule/speculation/speculation_pace.h"

#define MICROSECONDS INT64_C(1000)

enum { JOBS = 2 };

/* A run: its clock, what its deliveries take, and how many were made ahead. */
struct run {
    struct speculation_pace pace;
    int64_t now;
    int64_t computing;       /* of the worker */
    int64_t alone, ahead;    /* of all, by the pace */
    bool nothing_to_predict; /* so none is ever made ahead */
    unsigned made, made_ahead;
};

static struct run begin_run(int64_t computing, int64_t alone, int64_t ahead)
{
    return (struct run){
        .now = 1,
        .computing = computing * MICROSECONDS,
        .alone = alone * MICROSECONDS,
        .ahead = ahead * MICROSECONDS,
    };
}

/* Nanoseconds that so many deliveries take; `besides`: another one takes that much longer. */
static int64_t deliver(struct run *run, unsigned count, int64_t besides)
{
    const int64_t began = run->now;

    for (unsigned i = 0; i < count; i++) {
        const bool ahead = !run->pace.alone && !run->nothing_to_predict;
        const struct speculation_turn turn = {
            .now = run->now += (ahead ? run->ahead : run->alone) + (i % 2 == 0 ? besides : 0),
            .processor = run->computing,
            .compute = (uint64_t)run->computing / 4,
            .ahead = ahead,
            .jobs = JOBS,
        };

        speculation_pace_observe(&run->pace, &turn);
        run->made++;
        run->made_ahead += ahead;
    }
    return run->now - began;
}

static void where_looking_ahead_loses_deliveries_are_made_one_at_a_time(void **state)
{
    struct run run = begin_run(80, 300, 450);
    int64_t took = deliver(&run, 2000, 0);

    (void)state;
    assert_true(run.pace.alone);
    assert_false(speculation_pace_overlaps(&run.pace));
    assert_in_range(took, 2000 * run.alone, 2000 * run.alone * 102 / 100 + run.alone);
}

static void deliveries_that_compute_next_to_nothing_are_hardly_tried(void **state)
{
    struct run run = begin_run(80, 300, 450);
    unsigned before;

    (void)state;
    deliver(&run, 100, 0);
    assert_true(run.pace.alone);
    before = run.made_ahead;
    deliver(&run, 1500, 0);
    assert_int_equal(run.made_ahead, before);
    run.computing = 600 * MICROSECONDS;
    run.alone = 820 * MICROSECONDS;
    run.ahead = 700 * MICROSECONDS;
    deliver(&run, 1000, 0);
    assert_false(run.pace.alone);
}

static void the_longer_it_loses_the_rarer_are_trials(void **state)
{
    struct run run = begin_run(80, 300, 450);
    unsigned before;

    (void)state;
    deliver(&run, 100000, 0);
    before = run.made_ahead;
    deliver(&run, 100000, 0);
    assert_in_range(run.made_ahead - before, 1, 100);
}

static void where_it_wins_they_are_made_ahead(void **state)
{
    struct run run = begin_run(600, 900, 700);

    (void)state;
    deliver(&run, 2000, 0);
    assert_false(run.pace.alone);
    assert_true(speculation_pace_overlaps(&run.pace));
    assert_in_range(run.made - run.made_ahead, 1, 100);
}

static void long_deliveries_are_made_ahead_without_a_trial(void **state)
{
    struct run run = begin_run(2000, 2300, 1300);

    (void)state;
    deliver(&run, 2000, 0);
    assert_int_equal(run.made_ahead, run.made);
}

static void deliveries_that_become_long_are_made_ahead_soon(void **state)
{
    struct run run = begin_run(80, 300, 450);

    (void)state;
    deliver(&run, 100000, 0);
    assert_true(run.pace.alone);
    run.computing = 5000 * MICROSECONDS;
    run.alone = 5300 * MICROSECONDS;
    run.ahead = 2700 * MICROSECONDS;
    deliver(&run, 32, 0);
    assert_false(run.pace.alone);
}

static void longer_deliveries_are_judged_by_their_computrons(void **state)
{
    struct run run = begin_run(200, 420, 570);

    (void)state;
    deliver(&run, 80, 0);
    assert_true(run.pace.alone);
    /* Those that are known of one at a time are shorter than those of the trial. */
    run.computing = 800 * MICROSECONDS;
    run.ahead = 900 * MICROSECONDS;
    run.alone = 1020 * MICROSECONDS;
    while (run.pace.alone)
        deliver(&run, 1, 0);
    deliver(&run, 200, 0);
    assert_false(run.pace.alone);
}

static void snapshots_and_waits_for_input_do_not_count(void **state)
{
    struct run run = begin_run(600, 900, 700);

    (void)state;
    deliver(&run, 2000, 50000 * MICROSECONDS);
    assert_false(run.pace.alone);
    assert_in_range(run.made - run.made_ahead, 1, 200);
}

static void where_nothing_can_be_predicted_nothing_overlaps(void **state)
{
    struct run run = begin_run(20000, 20300, 10500);

    (void)state;
    assert_true(speculation_pace_overlaps(&run.pace));
    run.nothing_to_predict = true;
    deliver(&run, 20, 0);
    assert_false(speculation_pace_overlaps(&run.pace));
    run.nothing_to_predict = false;
    deliver(&run, 1, 0);
    assert_true(speculation_pace_overlaps(&run.pace));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_looking_ahead_loses_deliveries_are_made_one_at_a_time),
        cmocka_unit_test(deliveries_that_compute_next_to_nothing_are_hardly_tried),
        cmocka_unit_test(the_longer_it_loses_the_rarer_are_trials),
        cmocka_unit_test(where_it_wins_they_are_made_ahead),
        cmocka_unit_test(long_deliveries_are_made_ahead_without_a_trial),
        cmocka_unit_test(deliveries_that_become_long_are_made_ahead_soon),
        cmocka_unit_test(longer_deliveries_are_judged_by_their_computrons),
        cmocka_unit_test(snapshots_and_waits_for_input_do_not_count),
        cmocka_unit_test(where_nothing_can_be_predicted_nothing_overlaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
