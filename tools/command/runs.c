/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tools/command/runs_render.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"
#include "tools/stats/chains.h"

enum { SHOWN = 20 };

struct runs_report {
    const struct options *options;
    struct chains chains;
    uint64_t chosen; /* deliveries */
};

static int runs_on_delivery(void *context, const struct model_delivery *delivery,
                            struct error *error)
{
    struct runs_report *runs = context;
    bool wanted = selection_takes(&runs->options->selection, delivery);

    runs->chosen += wanted;
    return chains_add(&runs->chains, delivery, wanted, error);
}

static void on_inbound(void *context, const struct model_inbound *inbound)
{
    chains_add_inbound(&((struct runs_report *)context)->chains, inbound);
}

/* The one that took longest first; equals in the order of their beginning. */
static int compare_chains(const void *a, const void *b)
{
    const struct chain *left = *(const struct chain *const *)a;
    const struct chain *right = *(const struct chain *const *)b;
    int64_t left_span = left->end - left->start, right_span = right->end - right->start;

    if (left_span != right_span)
        return left_span > right_span ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* Those with a chosen delivery, sorted; NULL when memory ran out. */
static const struct chain **sort_chains(const struct chains *chains, size_t *count)
{
    const struct chain **sorted = calloc(chains->count + 1, sizeof(struct chain *));

    *count = 0;
    for (size_t i = 0; sorted != NULL && i < chains->count; i++) {
        if (chains->chains[i].wanted)
            sorted[(*count)++] = &chains->chains[i];
    }
    if (sorted != NULL)
        qsort(sorted, *count, sizeof(struct chain *), compare_chains);
    return sorted;
}

static int write_runs(const struct runs_report *runs, struct error *error)
{
    const struct options *options = runs->options;
    size_t count, most = options->top > 0 ? options->top : SHOWN;
    const struct chain **sorted = sort_chains(&runs->chains, &count);
    struct buf out = {0};
    int result = 0;

    if (sorted == NULL)
        return error_memory(error, "runs");
    for (size_t i = 0; i < count && i < most && result == 0; i++) {
        if (options->json)
            runs_render_json(&out, &runs->chains, sorted[i]);
        else
            runs_render_text(&out, &runs->chains, sorted[i]);
        result = output_flush_if_much(&out, error);
    }
    if (!options->json && count > most)
        buf_printf(&out, "%zu more runs took less; --top %zu shows all\n", count - most, count);
    if (result == 0)
        result = output_flush(&out, error);
    buf_free(&out);
    free(sorted);
    return result;
}

int runs_run(const struct options *options, struct error *error)
{
    struct runs_report runs = {.options = options};
    struct feed feed = {.files = options->files,
                        .strict = options->strict,
                        .jobs = options->jobs,
                        .progress = true,
                        .labels = true,
                        .delivery = runs_on_delivery,
                        .inbound = on_inbound,
                        .context = &runs};
    struct tally tally;
    int result = feed_run(&feed, &tally, error);

    if (result == 0 && runs.chains.failed)
        result = error_memory(error, "runs");
    if (result == 0)
        result = write_runs(&runs, error);
    if (result == 0)
        selection_explain_none(runs.chosen, tally.deliveries);
    tally_free(&tally);
    chains_free(&runs.chains);
    return result;
}
