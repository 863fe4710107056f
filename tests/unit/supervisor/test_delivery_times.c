/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/schedule/log/delivery_log.h"

/*
 * A delivery of 100 µs with one request: 10 µs to the worker, which works 20 µs, asks,
 * is received 5 µs later, answered after 30 µs, gets that 5 µs later, works 20 µs, and its
 * result takes 10 µs.
 */
enum { STAMPS = 4, PIPE = 30, WORKER = 40, KERNEL = 30, TOTAL = 100 };

struct story {
    struct delivery_times times;
    struct stamp stamps[STAMPS];
    struct meter meter;
    struct delivery_end end;
    struct delivery_report report;
};

static struct stamp at(int64_t microseconds)
{
    return (struct stamp){INT64_C(1795219394000000) + microseconds,
                          INT64_C(5000000000) + 1000 * microseconds};
}

static void set_up(struct story *story)
{
    const int64_t moments[STAMPS] = {10, 30, 70, 90};
    struct error error;

    memset(story, 0, sizeof *story);
    story->times.sent = at(0);
    assert_int_equal(delivery_times_add(&story->times, at(35), at(65), &error), 0);
    for (size_t i = 0; i < STAMPS; i++)
        story->stamps[i] = at(moments[i]);
    story->meter.stamps = story->stamps;
    story->meter.stamp_count = STAMPS;
    story->end = (struct delivery_end){.returned = at(TOTAL), .meter = &story->meter};
}

static const struct delivery_report *times_of(struct story *story)
{
    struct error error;

    assert_int_equal(delivery_times_fill(&story->times, &story->end, &story->report, &error), 0);
    delivery_times_free(&story->times);
    return &story->report;
}

static void check_split(const struct delivery_report *report)
{
    assert_int_equal(report->total, 1000 * TOTAL);
    assert_int_equal(report->pipe, 1000 * PIPE);
    assert_int_equal(report->worker, 1000 * WORKER);
    assert_int_equal(report->kernel, 1000 * KERNEL);
}

/* Only the supervisor's own times are known. */
static void check_own(const struct delivery_report *report)
{
    assert_int_equal(report->total, 1000 * TOTAL);
    assert_int_equal(report->pipe, REPORT_NONE);
    assert_int_equal(report->worker, REPORT_NONE);
    assert_int_equal(report->kernel, 1000 * KERNEL);
}

static void test_both_clocks(void **state)
{
    struct story story;

    (void)state;
    set_up(&story);
    check_split(times_of(&story));
}

static void test_timestamps_alone(void **state)
{
    struct story story;

    (void)state;
    set_up(&story);
    for (size_t i = 0; i < STAMPS; i++)
        story.stamps[i].mono = 0;
    check_split(times_of(&story));
}

static void test_monotonic_clock_of_another_host(void **state)
{
    struct story story;

    (void)state;
    set_up(&story);
    for (size_t i = 0; i < STAMPS; i++)
        story.stamps[i].mono += INT64_C(70000000000);
    check_split(times_of(&story));
}

static void test_clocks_that_are_both_others(void **state)
{
    const int64_t hour = INT64_C(3600000000);

    (void)state;
    for (int64_t off = -hour; off <= hour; off += 2 * hour) {
        struct story story;

        set_up(&story);
        for (size_t i = 0; i < STAMPS; i++)
            story.stamps[i] = (struct stamp){story.stamps[i].real + off, 0};
        check_own(times_of(&story));
    }
}

static void test_clock_set_within_the_delivery(void **state)
{
    struct story story;

    (void)state;
    set_up(&story);
    for (size_t i = 0; i < STAMPS; i++)
        story.stamps[i].mono = 0;
    story.end.returned.real += 20000;
    check_own(times_of(&story));
}

static void test_stamps_that_are_not_all_there(void **state)
{
    struct story story;

    (void)state;
    for (size_t count = 1; count < STAMPS; count++) {
        set_up(&story);
        story.meter.stamp_count = count;
        check_own(times_of(&story));
    }
}

static void test_worker_that_died(void **state)
{
    struct story story;

    (void)state;
    set_up(&story);
    story.end.meter = NULL;
    assert_int_equal(times_of(&story)->total, 1000 * TOTAL);
    assert_int_equal(story.report.pipe, REPORT_NONE);
    assert_int_equal(story.report.worker, REPORT_NONE);
    assert_int_equal(story.report.kernel, REPORT_NONE);
}

static void many_requests_keep_total_and_kernel_time(void **state)
{
    struct story story;
    struct error error;

    (void)state;
    set_up(&story);
    for (int i = 0; i < 2 * DELIVERY_TIMES_MAX; i++)
        assert_int_equal(delivery_times_add(&story.times, at(35), at(36), &error), 0);
    assert_true(story.times.request_capacity < 2 * DELIVERY_TIMES_MAX);
    story.end.returned = at(TOTAL);
    times_of(&story);
    assert_int_equal(story.report.total, 1000 * TOTAL);
    assert_int_equal(story.report.pipe, REPORT_NONE);
    assert_int_equal(story.report.kernel, 1000 * (KERNEL + 2 * DELIVERY_TIMES_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_clocks),
        cmocka_unit_test(test_timestamps_alone),
        cmocka_unit_test(test_monotonic_clock_of_another_host),
        cmocka_unit_test(test_clocks_that_are_both_others),
        cmocka_unit_test(test_clock_set_within_the_delivery),
        cmocka_unit_test(test_stamps_that_are_not_all_there),
        cmocka_unit_test(test_worker_that_died),
        cmocka_unit_test(many_requests_keep_total_and_kernel_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
