/* SPDX-License-Identifier: Apache-2.0 */
/* The processors that workers are given deliveries on, when several compute at the same time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "supervisor/process/placement/placement_seats.h"

/* No machine that runs tests has these. */
enum { FIRST = 1000, SECOND, THIRD };

static struct placement apart(void)
{
    struct placement placement = {.kind = PLACEMENT_AUTO, .here = -1, .there = -1, .seat = -1};

    CPU_SET(FIRST, &placement.before);
    CPU_SET(SECOND, &placement.before);
    CPU_SET(THIRD, &placement.before);
    return placement;
}

static void each_has_one_of_its_own(void **state)
{
    const struct placement placement = apart();
    struct placement_seats seats = {0};

    (void)state;
    assert_int_equal(placement_seats_take(&seats, &placement, -1), FIRST);
    assert_int_equal(placement_seats_take(&seats, &placement, -1), SECOND);
    assert_int_equal(placement_seats_take(&seats, &placement, FIRST), THIRD);
    assert_int_equal(placement_seats_take(&seats, &placement, SECOND), -1);
    placement_seats_leave(&seats, SECOND);
    placement_seats_leave(&seats, -1);
    assert_int_equal(placement_seats_take(&seats, &placement, THIRD), SECOND);
}

static void the_last_one_is_taken_again(void **state)
{
    const struct placement placement = apart();
    struct placement_seats seats = {0};

    (void)state;
    assert_int_equal(placement_seats_take(&seats, &placement, THIRD), THIRD);
    assert_int_equal(placement_seats_take(&seats, &placement, SECOND), SECOND);
    /* One that may not be used is none. */
    assert_int_equal(placement_seats_take(&seats, &placement, THIRD + 1), FIRST);
}

/* It is needed for what comes out of deliveries. */
static void the_callers_own_comes_last(void **state)
{
    struct placement placement = apart();
    struct placement_seats seats = {0};
    cpu_set_t all, own;
    int caller;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    caller = sched_getcpu();
    CPU_ZERO(&own);
    CPU_SET((size_t)caller, &own);
    assert_int_equal(sched_setaffinity(0, sizeof own, &own), 0);
    placement.before = own;
    CPU_SET(THIRD, &placement.before);
    assert_int_equal(placement_seats_take(&seats, &placement, caller), THIRD);
    assert_int_equal(placement_seats_take(&seats, &placement, caller), caller);
    assert_int_equal(placement_seats_take(&seats, &placement, caller), -1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void there_are_none_where_nothing_is_to_be_chosen(void **state)
{
    struct placement placement = apart();
    struct placement_seats seats = {0};

    (void)state;
    placement.here = FIRST; /* together */
    assert_int_equal(placement_seats_take(&seats, &placement, -1), -1);
    placement = apart();
    placement.stuck = true;
    assert_int_equal(placement_seats_take(&seats, &placement, -1), -1);
    placement = apart();
    placement.kind = PLACEMENT_NONE;
    assert_int_equal(placement_seats_take(&seats, &placement, -1), -1);
    assert_int_equal(CPU_COUNT(&seats.taken), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_one_of_its_own),
        cmocka_unit_test(the_last_one_is_taken_again),
        cmocka_unit_test(the_callers_own_comes_last),
        cmocka_unit_test(there_are_none_where_nothing_is_to_be_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
