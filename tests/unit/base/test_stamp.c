/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#include <cmocka.h>

#include "base/stamp.h"

static int64_t microseconds_now(void)
{
    struct timeval now;

    assert_int_equal(gettimeofday(&now, NULL), 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_usec;
}

static int64_t nanoseconds_now(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void a_stamp_is_what_both_clocks_say(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t real = microseconds_now(), mono = nanoseconds_now();
        struct stamp stamp = stamp_now();

        assert_in_range(stamp.real, real, microseconds_now());
        assert_in_range(stamp.mono, mono, nanoseconds_now());
    }
}

static void later_stamps_continue_from_the_first(void **state)
{
    struct stamp first = stamp_now(), last = first;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t mono = nanoseconds_now();
        struct stamp stamp = stamp_after(first);

        assert_in_range(stamp.mono, mono, nanoseconds_now());
        assert_int_equal(stamp.real - first.real, (stamp.mono - first.mono) / 1000);
        assert_true(stamp.real >= last.real && stamp.mono >= last.mono);
        last = stamp;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stamp_is_what_both_clocks_say),
        cmocka_unit_test(later_stamps_continue_from_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
