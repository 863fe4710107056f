/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/compare.h"

#include <stdlib.h>

#include "tools/compare_render.h"
#include "tools/feed.h"
#include "tools/output.h"
#include "tools/pairs.h"

/* How many slower deliveries the text names unless --top says so. */
enum { SLOWER_SHOWN = 20 };

struct reading {
    const struct options *options;
    struct pairs *pairs;
    int side;
};

static int on_delivery(void *context, const struct model_delivery *delivery, struct error *error)
{
    struct reading *reading = context;

    if (!selection_takes(&reading->options->selection, delivery))
        return 0;
    return pairs_add(reading->pairs, reading->side, delivery, error);
}

static int read_side(const struct options *options, struct pairs *pairs, int side,
                     struct error *error)
{
    struct reading reading = {.options = options, .pairs = pairs, .side = side};
    char *files[] = {options->files[side], NULL};
    struct feed feed = {.files = files,
                        .strict = options->strict,
                        .jobs = options->jobs,
                        .progress = true,
                        .labels = true, /* with them comes the digest of all syscalls */
                        .delivery = on_delivery,
                        .context = &reading};
    struct tally tally;

    return feed_run(&feed, &tally, error);
}

/* The one that lost most first; equals in the order of their coming. */
static int compare_excess(const void *a, const void *b)
{
    const struct pair *left = *(const struct pair *const *)a;
    const struct pair *right = *(const struct pair *const *)b;

    if (left->excess != right->excess)
        return left->excess > right->excess ? -1 : 1;
    return left < right ? -1 : left > right;
}

static int find(struct comparison *comparison, const struct options *options, struct error *error)
{
    const struct pairs *pairs = comparison->pairs;
    size_t shown = options->top > 0 ? options->top : SLOWER_SHOWN;

    comparison->diverging = calloc(pairs->count + 1, sizeof(struct pair *));
    comparison->slower = calloc(pairs->count + 1, sizeof(struct pair *));
    if (comparison->diverging == NULL || comparison->slower == NULL)
        return error_memory(error, "the deliveries to compare");
    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->pairs[i];
        unsigned differences = pair_differences(pair);

        if ((differences & ~(unsigned)PAIR_INSTRUCTIONS) != 0)
            comparison->diverging[comparison->diverging_count++] = pair;
        if ((differences & PAIR_INSTRUCTIONS) != 0)
            comparison->instructions_differ++;
        if (pair_is_slower(pairs, pair))
            comparison->slower[comparison->slower_count++] = pair;
    }
    qsort(comparison->slower, comparison->slower_count, sizeof(struct pair *), compare_excess);
    comparison->slower_shown = comparison->slower_count < shown ? comparison->slower_count : shown;
    return 0;
}

static int write_comparison(const struct comparison *comparison, bool json, struct error *error)
{
    struct buf out = {0};
    int result;

    (json ? compare_json : compare_text)(&out, comparison);
    result = output_flush(&out, error);
    buf_free(&out);
    return result;
}

static int compare_sides(const struct options *options, struct pairs *pairs, struct error *error)
{
    struct comparison comparison = {.pairs = pairs,
                                    .names = {options->files[0], options->files[1]}};
    int result = -1;

    if (find(&comparison, options, error) == 0)
        result = write_comparison(&comparison, options->json, error);
    if (result == 0 && comparison.diverging_count > 0)
        result = error_set(error, ERROR_DELIVERY, "%zu deliveries came out differently",
                           comparison.diverging_count);
    free(comparison.diverging);
    free(comparison.slower);
    return result;
}

int compare_run(const struct options *options, struct error *error)
{
    struct pairs pairs = {0};
    int result = -1;

    if (read_side(options, &pairs, 0, error) == 0 && read_side(options, &pairs, 1, error) == 0 &&
        pairs_compute(&pairs, error) == 0)
        result = compare_sides(options, &pairs, error);
    pairs_free(&pairs);
    return result;
}
