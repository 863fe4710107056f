/* SPDX-License-Identifier: Apache-2.0 */
/* Places a process and its worker on the CPUs of this machine. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "supervisor/process/placement.h"

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

/* The n-th CPU that may be used, from 0. */
static int processor_number(int n)
{
    int cpu = 0;

    while (!CPU_ISSET((size_t)cpu, &all) || n-- > 0)
        cpu++;
    return cpu;
}

static int usable_cpus(void)
{
    cpu_set_t usable;

    assert_int_equal(sched_getaffinity(0, sizeof usable, &usable), 0);
    return CPU_COUNT(&usable);
}

static void skip_with_one_processor(void)
{
    if (CPU_COUNT(&all) < 2)
        skip(); /* there is nothing to choose */
}

static void slots_are_different_cpus_in_turn(void **state)
{
    struct placement placement;
    struct error error;

    (void)state;
    skip_with_one_processor();
    for (int slot = 0; slot < 2 * CPU_COUNT(&all); slot++) {
        assert_int_equal(placement_open(&placement, PLACEMENT_SAME, slot, false, &error), 0);
        assert_int_equal(placement.here, processor_number(slot % CPU_COUNT(&all)));
        assert_int_equal(sched_getcpu(), placement.here);
        assert_int_equal(give_processors_back(NULL), 0);
    }
}

static void auto_shares_the_cpu_of_its_slot_from_the_first_delivery_on(void **state)
{
    struct placement placement;
    struct error error;

    (void)state;
    skip_with_one_processor();
    assert_int_equal(placement_open(&placement, PLACEMENT_AUTO, 1, false, &error), 0);
    assert_int_equal(placement.here, -1);
    placement_gather(&placement);
    assert_int_equal(placement.here, processor_number(1));
    assert_int_equal(sched_getcpu(), processor_number(1));
    /* Once: who is moved afterwards by others stays there. */
    assert_int_equal(give_processors_back(NULL), 0);
    placement_gather(&placement);
    assert_int_equal(usable_cpus(), CPU_COUNT(&all));
}

static void auto_moves_nothing_where_deliveries_overlap(void **state)
{
    struct placement placement;
    struct error error;

    (void)state;
    assert_int_equal(placement_open(&placement, PLACEMENT_AUTO, 1, true, &error), 0);
    placement_gather(&placement);
    assert_int_equal(placement.here, -1);
    assert_int_equal(usable_cpus(), CPU_COUNT(&all));
}

/* No machine that runs tests has these. */
enum { FIRST = 1000, SECOND, THIRD };

static struct placement overlapping(void)
{
    struct placement placement = {.kind = PLACEMENT_AUTO, .here = -1, .there = -1, .overlap = true};

    CPU_SET(FIRST, &placement.before);
    CPU_SET(SECOND, &placement.before);
    CPU_SET(THIRD, &placement.before);
    return placement;
}

static void each_worker_reserves_a_cpu_of_its_own(void **state)
{
    const struct placement placement = overlapping();
    cpu_set_t reserved = {0};

    (void)state;
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, -1), FIRST);
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, -1), SECOND);
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, FIRST), THIRD);
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, SECOND), -1);
    CPU_CLR(SECOND, &reserved);
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, THIRD), SECOND);
}

static void its_last_cpu_is_reserved_again(void **state)
{
    const struct placement placement = overlapping();
    cpu_set_t reserved = {0};

    (void)state;
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, THIRD), THIRD);
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, SECOND), SECOND);
    /* One that may not be used is none. */
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, THIRD + 1), FIRST);
}

/* The supervisor needs it for what comes out of deliveries. */
static void the_callers_cpu_comes_last(void **state)
{
    struct placement placement = overlapping();
    cpu_set_t reserved = {0}, own;
    const int caller = sched_getcpu();

    (void)state;
    CPU_ZERO(&own);
    CPU_SET((size_t)caller, &own);
    assert_int_equal(sched_setaffinity(0, sizeof own, &own), 0);
    placement.before = own;
    CPU_SET(THIRD, &placement.before);
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, caller), THIRD);
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, caller), caller);
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, caller), -1);
}

static void none_is_reserved_where_there_is_no_choice(void **state)
{
    struct placement placement = overlapping();
    cpu_set_t reserved = {0};

    (void)state;
    placement.overlap = false;
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, -1), -1);
    placement = overlapping();
    placement.kind = PLACEMENT_NONE;
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, -1), -1);
    placement = overlapping();
    CPU_CLR(SECOND, &placement.before);
    CPU_CLR(THIRD, &placement.before);
    assert_int_equal(placement_reserve_cpu(&placement, &reserved, -1), -1);
    assert_int_equal(CPU_COUNT(&reserved), 0);
}

#define PLACED(test) cmocka_unit_test_teardown(test, give_processors_back)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACED(slots_are_different_cpus_in_turn),
        PLACED(auto_shares_the_cpu_of_its_slot_from_the_first_delivery_on),
        PLACED(auto_moves_nothing_where_deliveries_overlap),
        cmocka_unit_test(each_worker_reserves_a_cpu_of_its_own),
        cmocka_unit_test(its_last_cpu_is_reserved_again),
        PLACED(the_callers_cpu_comes_last),
        cmocka_unit_test(none_is_reserved_where_there_is_no_choice),
    };

    return cmocka_run_group_tests(tests, keep_processors, give_processors_back);
}
