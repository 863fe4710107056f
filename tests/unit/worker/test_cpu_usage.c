/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "worker/channel.h"

/* How many microseconds the thread has run. */
static int64_t run_until_now(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Works until the thread has run for so many microseconds more. */
static void work(int64_t microseconds)
{
    const int64_t end = run_until_now() + microseconds;

    while (run_until_now() < end)
        ;
}

static int64_t microseconds(const struct meter *meter)
{
    return meter->cpu.user + meter->cpu.system;
}

/* The moments are made up: how fast this runs does not matter. */
static void processor_time_is_asked_for_now_and_then_and_none_is_lost(void **state)
{
    struct cpu_usage usage;
    struct meter soon = {0}, late = {0}, next = {0};
    const int64_t begun = run_until_now();

    (void)state;
    cpu_usage_rebase(&usage, 1000);
    work(3000);
    cpu_usage_take(&usage, 1000 + CPU_USAGE_INTERVAL - 1, &soon);
    assert_false(soon.cpu_known);
    work(3000);
    cpu_usage_take(&usage, 1000 + CPU_USAGE_INTERVAL, &late);
    assert_true(late.cpu_known);
    assert_in_range(microseconds(&late), 5900, INT64_MAX);
    cpu_usage_take(&usage, 1000 + 2 * CPU_USAGE_INTERVAL - 1, &next);
    assert_false(next.cpu_known);
    cpu_usage_take(&usage, 1000 + 2 * CPU_USAGE_INTERVAL, &next);
    assert_true(next.cpu_known);
    /* Nor is any reported twice. */
    assert_in_range(microseconds(&late) + microseconds(&next), 0, run_until_now() - begun + 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processor_time_is_asked_for_now_and_then_and_none_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
