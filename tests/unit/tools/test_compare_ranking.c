/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks the longest deliveries, and finds those that changed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tools/command/compare_ranking.h"

enum { COUNT = 12 };

static void add(struct pairs *pairs, int side, int64_t number, int64_t worker, int64_t pipe)
{
    const struct model_delivery delivery = {
        .vat_id = "v1",
        .vat_name = "",
        .kind = "message",
        .method = "",
        .description = "",
        .problem = "",
        .delivery_num = number,
        .total = worker + pipe,
        .pipe = pipe,
        .worker = worker,
        .kernel = 0,
        .compute = NAN,
        .instructions = NAN,
        .block_cost = NAN,
    };
    struct error error;

    assert_int_equal(pairs_add(pairs, side, &delivery, &error), 0);
}

static void make(struct ranking *ranking, struct pairs *pairs)
{
    struct error error;

    assert_int_equal(pairs_compute(pairs, &error), 0);
    assert_int_equal(ranking_make(ranking, pairs, &error), 0);
}

/* Delivery n takes n ms; in B twice as long, but for the first, which becomes the longest. */
static void test_ranks(void **state)
{
    struct pairs pairs = {0};
    struct ranking ranking;

    (void)state;
    for (int64_t i = 1; i <= COUNT; i++)
        add(&pairs, 0, i, i * 900000, i * 100000);
    for (int64_t i = 1; i <= COUNT; i++)
        add(&pairs, 1, i, i == 1 ? 10000000 : i * 1800000, i == 1 ? 90000000 : i * 200000);
    make(&ranking, &pairs);
    assert_int_equal(ranking.count, COUNT);
    assert_int_equal(ranking.top, 3);
    assert_int_equal(ranking.kept, 2);
    assert_int_equal(ranking.largest_part_changed, 1);
    assert_int_equal(pairs_get(&pairs, ranking.deliveries[0].number).delivery_num, COUNT);
    assert_int_equal(ranking.deliveries[0].ranks[1], 1);
    assert_int_equal(ranking.deliveries[COUNT - 1].ranks[0], COUNT - 1);
    assert_int_equal(ranking.deliveries[COUNT - 1].ranks[1], 0);
    /* Eleven moved by one, one by eleven. */
    assert_true(fabs(ranking.correlation - (1 - 6.0 * (11 + 121) / (12 * 143))) < 1e-9);
    assert_true(fabs(ranking.ratios[RANKING_LEAST] - 2) < 1e-9);
    assert_true(fabs(ranking.ratios[RANKING_HALF] - 2) < 1e-9);
    assert_true(fabs(ranking.ratios[RANKING_MOST] - 100) < 1e-9);
    ranking_free(&ranking);
    pairs_free(&pairs);
}

static void test_nothing(void **state)
{
    struct pairs pairs = {0};
    struct ranking ranking;

    (void)state;
    make(&ranking, &pairs);
    assert_int_equal(ranking.count, 0);
    ranking_free(&ranking);
    pairs_free(&pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks),
                                       cmocka_unit_test(test_nothing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
