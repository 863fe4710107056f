/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/nats/nats_time.h"

static void times_are_read_to_the_nanosecond(void **state)
{
    static const struct {
        const char *text;
        int64_t nanoseconds;
    } times[] = {{"1970-01-01T00:00:00Z", 0},
                 {"2026-11-22T23:11:12Z", 1795389072000000000},
                 {"2026-11-22T23:11:12.5Z", 1795389072500000000},
                 {"2026-11-22T23:11:12.000000001Z", 1795389072000000001}};
    int64_t found;

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_true(nats_time_read(times[i].text, &found));
        assert_int_equal(found, times[i].nanoseconds);
    }
}

static void what_is_no_time_is_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "now",
                                        "2026-11-22",
                                        "2026-11-22T23:11:12",
                                        "2026-11-22T23:11:12.Z5",
                                        "2026-11-22T23:11:12.0000000001Z",
                                        "2026-11-22T23:11:12+01:00",
                                        "1969-12-31T23:59:59Z",
                                        "9999-01-01T00:00:00Z"};
    int64_t found;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(nats_time_read(texts[i], &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_to_the_nanosecond),
        cmocka_unit_test(what_is_no_time_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
