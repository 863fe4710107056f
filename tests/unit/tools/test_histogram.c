/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tools/stats/histogram.h"

static uint64_t state_of_noise = 88172645463325252u;

/* Xorshift (Marsaglia 2003): the same values on every run, over all sizes. */
static uint64_t noise(void)
{
    state_of_noise ^= state_of_noise << 13;
    state_of_noise ^= state_of_noise >> 7;
    state_of_noise ^= state_of_noise << 17;
    return state_of_noise >> (state_of_noise % 64);
}

static void buckets_follow_each_other(void **state)
{
    (void)state;
    for (uint32_t index = 0; index < HISTOGRAM_INDICES; index++) {
        assert_int_equal(histogram_index(histogram_lowest(index)), index);
        if (index > 0)
            assert_int_equal(histogram_index(histogram_lowest(index) - 1), index - 1);
    }
    assert_int_equal(histogram_index(UINT64_MAX), HISTOGRAM_INDICES - 1);
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static void quantiles_are_exact_to_a_64th(void **state)
{
    enum { COUNT = 5000 };
    static const double shares[] = {0, 0.01, 0.5, 0.9, 0.99, 0.999, 1};
    static uint64_t values[COUNT];
    struct histogram histogram = {0};

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = noise();
        assert_int_equal(histogram_add(&histogram, values[i]), 0);
    }
    qsort(values, COUNT, sizeof values[0], compare);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        size_t rank = shares[i] * COUNT < 1 ? 1 : (size_t)(shares[i] * COUNT + 0.999999);
        double exact = (double)values[rank - 1];
        double found = (double)histogram_quantile(&histogram, shares[i]);

        assert_true(found >= exact * (1 - 1.0 / 64) && found <= exact * (1 + 1.0 / 64));
    }
    assert_int_equal(histogram_quantile(&histogram, 1), values[COUNT - 1]);
    assert_int_equal(histogram.maximum, values[COUNT - 1]);
    assert_int_equal(histogram.minimum, values[0]);
    histogram_free(&histogram);
}

static void expect_same(const struct histogram *a, const struct histogram *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->total, b->total);
    assert_int_equal(a->minimum, b->minimum);
    assert_int_equal(a->maximum, b->maximum);
    assert_int_equal(a->bucket_count, b->bucket_count);
    for (size_t i = 0; i < a->bucket_count; i++) {
        assert_int_equal(a->buckets[i].index, b->buckets[i].index);
        assert_int_equal(a->buckets[i].count, b->buckets[i].count);
    }
}

static void merging_loses_nothing(void **state)
{
    struct histogram parts[3] = {0}, whole = {0}, merged = {0};

    (void)state;
    for (int i = 0; i < 3000; i++) {
        uint64_t value = noise() >> 20;

        assert_int_equal(histogram_add(&parts[i % 3], value), 0);
        assert_int_equal(histogram_add(&whole, value), 0);
    }
    for (int i = 2; i >= 0; i--)
        assert_int_equal(histogram_merge(&merged, &parts[i]), 0);
    expect_same(&merged, &whole);
    histogram_merge(&merged, &(struct histogram){0});
    expect_same(&merged, &whole);
    for (int i = 0; i < 3; i++)
        histogram_free(&parts[i]);
    histogram_free(&whole);
    histogram_free(&merged);
}

static void an_empty_one_has_no_values(void **state)
{
    struct histogram histogram = {0};

    (void)state;
    assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
    histogram_free(&histogram);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_follow_each_other),
        cmocka_unit_test(quantiles_are_exact_to_a_64th),
        cmocka_unit_test(merging_loses_nothing),
        cmocka_unit_test(an_empty_one_has_no_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
