/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines and sums of times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/count/compare/compare.h"

static bool exceeds(uint64_t before, uint64_t now, double allow)
{
    const struct baseline baseline = {.instructions = before, .fingerprint = "a"};
    const struct count_total total = {.instructions = now};
    struct buf out = {0};
    bool result;

    baseline_compare(&baseline, &total, "a", allow, false, &out, &result);
    assert_non_null(strstr(buf_string(&out), "allowed: "));
    buf_free(&out);
    return result;
}

static void test_a_count_exceeds_what_is_allowed(void **state)
{
    (void)state;
    assert_false(exceeds(1000, 1000, 0));
    assert_true(exceeds(1000, 1001, 0));
    assert_false(exceeds(1000, 1010, 1));
    assert_true(exceeds(1000, 1011, 1));
    assert_false(exceeds(1000, 1, 0));
    assert_true(exceeds(0, 1, 100));
}

static void test_another_fingerprint_is_said(void **state)
{
    const struct baseline baseline = {.instructions = 5, .fingerprint = "a"};
    const struct count_total total = {.instructions = 5};
    struct buf out = {0};
    bool more;

    (void)state;
    baseline_compare(&baseline, &total, "b", 0, true, &out, &more);
    assert_non_null(strstr(buf_string(&out), "\"exceeds\":false,\"sameFingerprint\":false"));
    buf_free(&out);
}

static void assert_near(double a, double b)
{
    assert_true(a - b < 1e-9 && b - a < 1e-9);
}

static void test_times_are_summed_up(void **state)
{
    double values[] = {2, 4, 4, 6};
    const struct compare_times all = {values, 4}, one = {values, 1};
    struct compare_summary summary = compare_summarise(&all);

    (void)state;
    assert_near(summary.mean, 4);
    assert_near(summary.deviation * summary.deviation, 8.0 / 3);
    assert_near(summary.least, 2);
    assert_near(summary.most, 6);
    summary = compare_summarise(&one);
    assert_near(summary.mean, 2);
    assert_near(summary.deviation, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_count_exceeds_what_is_allowed),
        cmocka_unit_test(test_another_fingerprint_is_said),
        cmocka_unit_test(test_times_are_summed_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
