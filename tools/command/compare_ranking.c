/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/compare_ranking.h"

#include <math.h>
#include <stdlib.h>

/* So many are the longest, but no more than a quarter of all. */
enum { RANKING_TOP = 20 };

static const struct {
    const char *name;
    double share;
} quantiles[RANKING_QUANTILES] = {
    [RANKING_LEAST] = {"least", 0},         [RANKING_TENTH] = {"10 %", 0.1},
    [RANKING_HALF] = {"half", 0.5},         [RANKING_NINETY] = {"90 %", 0.9},
    [RANKING_NINETY_NINE] = {"99 %", 0.99}, [RANKING_MOST] = {"most", 1},
};

const char *ranking_quantile_name(enum ranking_quantile quantile)
{
    return quantiles[quantile].name;
}

static int ranking_order(const struct ranked *a, const struct ranked *b, int side)
{
    if (a->totals[side] != b->totals[side])
        return a->totals[side] > b->totals[side] ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int by_a(const void *a, const void *b)
{
    return ranking_order(a, b, 0);
}

static int by_b(const void *a, const void *b)
{
    return ranking_order(a, b, 1);
}

static int by_ratio(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static enum pair_part largest_part(const struct pair_side *side)
{
    enum pair_part largest = PAIR_PIPE;

    for (int part = PAIR_PIPE; part < PAIR_PARTS; part++)
        if (side->parts[part] > side->parts[largest])
            largest = (enum pair_part)part;
    return largest;
}

/* The deliveries that both files time, with their ratios. */
static void ranking_collect(struct ranking *ranking, const struct pairs *pairs, double *ratios)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair pair = pairs_get(pairs, i);
        const double ratio = pair_ratio(&pair);

        if (isnan(ratio))
            continue;
        ratios[ranking->count] = ratio;
        ranking->largest_part_changed +=
            largest_part(&pair.sides[0]) != largest_part(&pair.sides[1]);
        ranking->deliveries[ranking->count++] = (struct ranked){
            .number = (uint32_t)i,
            .totals = {pair.sides[0].parts[PAIR_TOTAL], pair.sides[1].parts[PAIR_TOTAL]},
        };
    }
}

static void ranking_find_quantiles(struct ranking *ranking, double *ratios)
{
    qsort(ratios, ranking->count, sizeof *ratios, by_ratio);
    for (int i = 0; i < RANKING_QUANTILES; i++) {
        const double at = ceil(quantiles[i].share * (double)ranking->count);

        ranking->ratios[i] = ratios[at > 0 ? (size_t)at - 1 : 0];
    }
}

static void rank_side(struct ranking *ranking, int side)
{
    qsort(ranking->deliveries, ranking->count, sizeof *ranking->deliveries,
          side == 0 ? by_a : by_b);
    for (size_t i = 0; i < ranking->count; i++)
        ranking->deliveries[i].ranks[side] = i;
}

static void ranking_judge(struct ranking *ranking)
{
    const double count = (double)ranking->count;
    double squares = 0;

    ranking->top = (ranking->count + 3) / 4;
    if (ranking->top > RANKING_TOP)
        ranking->top = RANKING_TOP;
    for (size_t i = 0; i < ranking->count; i++) {
        const struct ranked *const delivery = &ranking->deliveries[i];
        const double moved = (double)delivery->ranks[0] - (double)delivery->ranks[1];

        squares += moved * moved;
        ranking->kept += delivery->ranks[0] < ranking->top && delivery->ranks[1] < ranking->top;
    }
    ranking->correlation = ranking->count < 2 ? 1 : 1 - 6 * squares / (count * (count * count - 1));
}

int ranking_make(struct ranking *ranking, const struct pairs *pairs, struct error *error)
{
    double *const ratios = calloc(pairs->count + 1, sizeof *ratios);

    *ranking = (struct ranking){.deliveries = calloc(pairs->count + 1, sizeof(struct ranked))};
    if (ratios == NULL || ranking->deliveries == NULL) {
        free(ratios);
        return error_memory(error, "the deliveries to compare");
    }
    ranking_collect(ranking, pairs, ratios);
    if (ranking->count > 0) {
        ranking_find_quantiles(ranking, ratios);
        rank_side(ranking, 1);
        rank_side(ranking, 0);
        ranking_judge(ranking);
    }
    free(ratios);
    return 0;
}

void ranking_free(struct ranking *ranking)
{
    free(ranking->deliveries);
    *ranking = (struct ranking){0};
}
