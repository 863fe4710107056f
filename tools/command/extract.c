/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/extract.h"

#include "tools/input/excerpt.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"

struct extract {
    struct excerpt excerpt;
    struct buf out;
};

static int on_line(void *context, const struct record *record, struct error *error)
{
    struct extract *extract = context;

    if (excerpt_take(&extract->excerpt, record, &extract->out) != 0)
        return error_memory(error, "the excerpt");
    return output_flush_if_much(&extract->out, error);
}

static int extract_on_delivery(void *context, const struct model_delivery *delivery,
                               struct error *error)
{
    (void)context;
    (void)delivery;
    (void)error;
    return 0;
}

int extract_run(const struct options *options, struct error *error)
{
    struct extract extract = {.excerpt = {.selection = &options->selection,
                                          .bundles = options->bundles,
                                          .block_height = RECORD_NONE,
                                          .crank_num = RECORD_NONE}};
    struct feed feed = {.files = options->files,
                        .strict = options->strict,
                        .jobs = options->jobs,
                        .progress = true,
                        .line = on_line,
                        .delivery = extract_on_delivery,
                        .context = &extract};
    struct tally tally;
    int result = feed_run(&feed, &tally, error);

    if (result == 0)
        result = output_flush(&extract.out, error);
    if (result == 0)
        selection_explain_none(extract.excerpt.deliveries, tally.deliveries);
    tally_free(&tally);
    excerpt_free(&extract.excerpt);
    buf_free(&extract.out);
    return result;
}
