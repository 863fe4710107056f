/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ping/ping_samples.h"

#include <math.h>
#include <stdlib.h>

int ping_samples_reserve(struct ping_samples *samples, size_t capacity, struct error *error)
{
    int64_t *items = reallocarray(samples->items, capacity, sizeof *items);

    if (items == NULL)
        return error_memory(error, "the measurements");
    samples->items = items;
    samples->capacity = capacity;
    return 0;
}

void ping_samples_free(struct ping_samples *samples)
{
    free(samples->items);
    *samples = (struct ping_samples){0};
}

static int ping_samples_compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

void ping_samples_sort(struct ping_samples *samples)
{
    qsort(samples->items, samples->count, sizeof *samples->items, ping_samples_compare);
}

int64_t ping_samples_percentile(const struct ping_samples *samples, double share)
{
    size_t rank = (size_t)ceil(share * (double)samples->count);

    return samples->items[rank > 0 ? rank - 1 : 0];
}

int64_t ping_samples_mean(const struct ping_samples *samples)
{
    double sum = 0;

    for (size_t i = 0; i < samples->count; i++)
        sum += (double)samples->items[i];
    return llround(sum / (double)samples->count);
}

/* The edge of that number, from 0: 1, 1.4, 2, 2.8, 4, ... */
static int64_t edge(int number)
{
    return llround(exp2(number / 2.0));
}

bool ping_samples_bar(const struct ping_samples *samples, size_t *next, struct ping_bar *bar)
{
    int number = 0;

    if (*next == samples->count)
        return false;
    *bar = (struct ping_bar){.to = 1};
    while (bar->to <= samples->items[*next]) {
        bar->from = bar->to;
        bar->to = edge(++number);
    }
    while (*next < samples->count && samples->items[*next] < bar->to) {
        bar->count++;
        (*next)++;
    }
    return true;
}
