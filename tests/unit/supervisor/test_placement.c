/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process and its worker are placed, on the processors of this machine. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "supervisor/process/placement/placement_meter.h"

static const int64_t MICROSECONDS = 1000;

static cpu_set_t all;

static int keep_processors(void **state)
{
    (void)state;
    return sched_getaffinity(0, sizeof all, &all);
}

static int give_processors_back(void **state)
{
    (void)state;
    return sched_setaffinity(0, sizeof all, &all);
}

/* The n-th processor that may be used, from 0. */
static int processor_number(int n)
{
    int processor = 0;

    while (!CPU_ISSET((size_t)processor, &all) || n-- > 0)
        processor++;
    return processor;
}

static void skip_with_one_processor(void)
{
    if (CPU_COUNT(&all) < 2)
        skip(); /* there is nothing to choose */
}

/* A delivery with one syscall took 50 us, of which the worker had it for 20 us and 10 us. */
static void deliver(struct placement *placement, int64_t now, int64_t frames)
{
    struct stamp stamps[] = {{.mono = 1000 * MICROSECONDS},
                             {.mono = 1020 * MICROSECONDS},
                             {.mono = 1030 * MICROSECONDS},
                             {.mono = 1040 * MICROSECONDS}};
    const struct meter meter = {.stamps = stamps, .stamp_count = 4};
    const struct session_turns turns = {.now = now, .away = 50 * MICROSECONDS, .frames = frames};

    placement_observe_meter(placement, &meter, &turns);
}

static void test_seats_are_different_processors_in_turn(void **state)
{
    struct placement placement;
    struct error error;

    (void)state;
    skip_with_one_processor();
    for (int seat = 0; seat < 2 * CPU_COUNT(&all); seat++) {
        assert_int_equal(placement_open(&placement, PLACEMENT_SAME, seat, &error), 0);
        assert_int_equal(placement.here, processor_number(seat % CPU_COUNT(&all)));
        assert_int_equal(sched_getcpu(), placement.here);
        assert_int_equal(give_processors_back(NULL), 0);
    }
}

static void test_auto_is_together_on_its_seat_from_the_first_delivery_on(void **state)
{
    struct placement placement;
    struct error error;

    (void)state;
    skip_with_one_processor();
    assert_int_equal(placement_open(&placement, PLACEMENT_AUTO, 1, &error), 0);
    assert_int_equal(placement.here, -1);
    deliver(&placement, 1000 * MICROSECONDS, 4);
    assert_int_equal(placement.here, processor_number(1));
    assert_int_equal(sched_getcpu(), processor_number(1));
}

static void test_a_record_without_a_stamp_for_each_frame_is_passed_over(void **state)
{
    struct placement placement;
    struct error error;

    (void)state;
    assert_int_equal(placement_open(&placement, PLACEMENT_AUTO, 0, &error), 0);
    deliver(&placement, 1000 * MICROSECONDS, 6);
    assert_int_equal(placement.here, -1);
}

static void test_what_a_meter_says_is_what_frames_waited(void **state)
{
    struct placement placement;
    struct error error;

    (void)state;
    skip_with_one_processor();
    assert_int_equal(placement_open(&placement, PLACEMENT_AUTO, 0, &error), 0);
    deliver(&placement, 1000 * MICROSECONDS, 4);
    deliver(&placement, 2000 * MICROSECONDS, 4);
    assert_int_equal(placement.decision.waited, 20 * MICROSECONDS);
    assert_int_equal(placement.decision.frames, 4);
}

static void test_stamps_that_cannot_be_are_passed_over(void **state)
{
    const struct session_turns turns = {.now = 1000, .away = 50, .frames = 4};
    struct stamp stamps[] = {{.mono = 1},         {.mono = INT64_MAX}, {.mono = 1},
                             {.mono = INT64_MAX}, {.mono = INT64_MAX}, {.mono = 1},
                             {.mono = INT64_MAX}, {.mono = 1}};
    struct placement placement;
    struct error error;

    (void)state;
    assert_int_equal(placement_open(&placement, PLACEMENT_AUTO, 0, &error), 0);
    for (size_t first = 0; first < 8; first += 4) {
        const struct meter meter = {.stamps = &stamps[first], .stamp_count = 4};

        placement_observe_meter(&placement, &meter, &turns);
        assert_int_equal(placement.here, -1);
        assert_int_equal(placement.decision.waited, 0);
    }
}

static void test_time_without_a_processor_is_waiting_too(void **state)
{
    (void)state;
    assert_int_equal(placement_waited(10, 30, 20), 20);
    assert_int_equal(placement_waited(10, 30, PLACEMENT_UNKNOWN), 10);
    assert_int_equal(placement_waited(10, 30, 40), 10);
    assert_int_equal(placement_waited(PLACEMENT_UNKNOWN, 30, 20), PLACEMENT_UNKNOWN);
}

#define PLACED(test) cmocka_unit_test_teardown(test, give_processors_back)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACED(test_seats_are_different_processors_in_turn),
        PLACED(test_auto_is_together_on_its_seat_from_the_first_delivery_on),
        PLACED(test_a_record_without_a_stamp_for_each_frame_is_passed_over),
        PLACED(test_what_a_meter_says_is_what_frames_waited),
        PLACED(test_stamps_that_cannot_be_are_passed_over),
        cmocka_unit_test(test_time_without_a_processor_is_waiting_too),
    };

    return cmocka_run_group_tests(tests, keep_processors, give_processors_back);
}
