/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/ping/ping_peer.h"

static void fill(struct ping_samples *samples, const int64_t *items, size_t count)
{
    struct error error;

    assert_int_equal(ping_samples_reserve(samples, count, &error), 0);
    for (size_t i = 0; i < count; i++)
        ping_samples_add(samples, items[i]);
    ping_samples_sort(samples);
}

static void percentiles_are_of_the_nearest_rank(void **state)
{
    static const int64_t items[] = {50, 15, 40, 20, 35};
    struct ping_samples samples = {0};

    (void)state;
    fill(&samples, items, 5);
    assert_int_equal(ping_samples_percentile(&samples, 0), 15);
    assert_int_equal(ping_samples_percentile(&samples, 0.2), 15);
    assert_int_equal(ping_samples_percentile(&samples, 0.3), 20);
    assert_int_equal(ping_samples_percentile(&samples, 0.5), 35);
    assert_int_equal(ping_samples_percentile(&samples, 0.99), 50);
    assert_int_equal(ping_samples_percentile(&samples, 1), 50);
    assert_int_equal(ping_samples_mean(&samples), 32);
    ping_samples_free(&samples);
}

static void single_sample_is_every_percentile(void **state)
{
    struct ping_samples samples = {0};

    (void)state;
    fill(&samples, (int64_t[]){7}, 1);
    assert_int_equal(ping_samples_percentile(&samples, 0.5), 7);
    assert_int_equal(ping_samples_percentile(&samples, 0.99), 7);
    ping_samples_free(&samples);
}

/* Each sample is within its bar, bars do not overlap, and all samples are in one. */
static void bars_hold_every_sample_once(void **state)
{
    static const int64_t items[] = {-1000, 0, 1, 2, 3, 4, 1000, 1448, 2000, INT64_C(1) << 40};
    struct ping_samples samples = {0};
    struct ping_bar bar;
    size_t next = 0, total = 0;
    int64_t end = 0;

    (void)state;
    fill(&samples, items, 10);
    while (ping_samples_bar(&samples, &next, &bar)) {
        assert_true(bar.count > 0 && bar.from < bar.to && bar.from >= end);
        for (size_t i = total; i < total + bar.count; i++)
            assert_true(samples.items[i] < bar.to && (samples.items[i] >= bar.from || bar.to == 1));
        total += bar.count;
        end = bar.to;
    }
    assert_int_equal(total, 10);
    ping_samples_free(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_of_the_nearest_rank),
        cmocka_unit_test(single_sample_is_every_percentile),
        cmocka_unit_test(bars_hold_every_sample_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
