/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/compare/compare.h"

#include <stdlib.h>

#include "base/array.h"
#include "tools/command/compare/compare_many.h"
#include "tools/command/compare/compare_render.h"
#include "tools/input/feed.h"
#include "tools/output/explain_runs.h"
#include "tools/output/output.h"
#include "tools/stats/pairs.h"

/* How many slower deliveries the text names unless --top says so. */
enum { SLOWER_SHOWN = 20 };

struct reading {
    const struct options *options;
    struct pairs *pairs;
    int side;
};

static int compare_on_delivery(void *context, const struct model_delivery *delivery,
                               struct error *error)
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
                        .delivery = compare_on_delivery,
                        .context = &reading};
    struct tally tally;
    int result = feed_run(&feed, &tally, error);

    if (result == 0 && !options->selection.runs.set)
        explain_runs(&tally.runs, options->files[side],
                     "are in it, and of deliveries of one number the last counts");
    tally_free(&tally);
    return result;
}

/* The one that lost most first; equals in the order of their coming. */
static int compare_excess(const void *a, const void *b)
{
    const struct slower *left = a, *right = b;

    if (left->excess != right->excess)
        return left->excess > right->excess ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int add_slower(struct comparison *comparison, size_t *capacity, size_t number,
                      const struct pair *pair)
{
    struct slower *slower =
        array_reserve(comparison->slower, capacity, comparison->slower_count + 1, sizeof *slower);

    if (slower == NULL)
        return -1;
    comparison->slower = slower;
    slower[comparison->slower_count++] =
        (struct slower){(uint32_t)number, pair_excess(comparison->pairs, pair)};
    return 0;
}

static int find_differences(struct comparison *comparison, const struct options *options,
                            struct error *error)
{
    const struct pairs *pairs = comparison->pairs;
    size_t shown = options->top > 0 ? options->top : SLOWER_SHOWN, capacity = 0;

    for (size_t i = 0; i < pairs->count; i++) {
        struct pair pair = pairs_get(pairs, i);

        comparison->diverging_count += pair_diverges(&pair);
        comparison->instructions_differ += (pair.differences & PAIR_INSTRUCTIONS) != 0;
        comparison->costs_differ += (pair.differences & PAIR_BLOCK_COST) != 0;
        if (pair_is_slower(pairs, &pair) && add_slower(comparison, &capacity, i, &pair) != 0)
            return error_memory(error, "the deliveries to compare");
    }
    if (comparison->slower_count > 0)
        qsort(comparison->slower, comparison->slower_count, sizeof(struct slower), compare_excess);
    comparison->slower_shown = comparison->slower_count < shown ? comparison->slower_count : shown;
    return 0;
}

static int write_comparison(const struct comparison *comparison, bool json, struct error *error)
{
    struct buf out = {0};
    int result = (json ? compare_json : compare_text)(&out, comparison, error);

    if (result == 0)
        result = output_flush(&out, error);
    buf_free(&out);
    return result;
}

static int compare_sides(const struct options *options, struct pairs *pairs, struct error *error)
{
    struct comparison comparison = {.pairs = pairs,
                                    .names = {options->files[0], options->files[1]}};
    int result = -1;

    if (ranking_make(&comparison.ranking, pairs, error) == 0 &&
        find_differences(&comparison, options, error) == 0)
        result = write_comparison(&comparison, options->json, error);
    if (result == 0 && comparison.diverging_count > 0)
        result = error_set(error, ERROR_DELIVERY, "%zu deliveries came out differently",
                           comparison.diverging_count);
    ranking_free(&comparison.ranking);
    free(comparison.slower);
    return result;
}

int compare_run(const struct options *options, struct error *error)
{
    struct pairs pairs = {0};
    int result = -1;

    if (options->files[2] != NULL)
        return compare_many_run(options, error);
    if (read_side(options, &pairs, 0, error) == 0 && read_side(options, &pairs, 1, error) == 0 &&
        pairs_compute(&pairs, error) == 0)
        result = compare_sides(options, &pairs, error);
    pairs_free(&pairs);
    return result;
}
