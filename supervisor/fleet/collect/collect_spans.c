/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/io.h"
#include "supervisor/fleet/collect/collection.h"
#include "supervisor/replay/output/replay_output.h"
#include "supervisor/replay/output/replay_part.h"

struct spans {
    struct collection *collection;
    struct replay_result **results; /* owned */
    size_t count, capacity;
};

static int collect_spans_add(struct spans *spans, struct replay_result *result, struct error *error)
{
    struct replay_result **results =
        array_reserve(spans->results, &spans->capacity, spans->count + 1, sizeof *results);

    if (results == NULL)
        return error_memory(error, "the results");
    spans->results = results;
    results[spans->count++] = result;
    return 0;
}

static void take_over(struct replay_result *into, struct replay_result *from)
{
    into->status = from->status;
    into->difference = from->difference;
    into->is_against = from->is_against;
    into->description = from->description;
    free(into->file);
    into->file = from->file;
    from->difference = (struct difference){0};
    from->description = (struct buf){0};
    from->file = NULL;
}

/* A further span of the same vat: its first difference counts, and what is the same adds up. */
static void merge(struct replay_result *into, struct replay_result *from)
{
    const bool differed = into->status == REPLAY_DIFFERS;

    replay_counts_add(&into->counts, &from->counts);
    if (into->first_num == 0)
        into->first_num = from->first_num;
    if (differed)
        return;
    into->delivery_num = from->delivery_num;
    if (from->status == REPLAY_DIFFERS) {
        difference_free(&into->difference);
        buf_free(&into->description);
        take_over(into, from);
    } else if (from->status == REPLAY_SKIPPED && into->status == REPLAY_SAME) {
        into->status = REPLAY_SKIPPED;
        memcpy(into->why, from->why, sizeof into->why);
    }
}

/* Takes the result over where it is kept, and leaves NULL. */
static int take_result(struct spans *spans, struct replay_result **result, struct error *error)
{
    struct replay_result *last = spans->count > 0 ? spans->results[spans->count - 1] : NULL;

    if (!spans->collection->options->spans && last != NULL &&
        strcmp(last->id, (*result)->id) == 0 && strcmp(last->name, (*result)->name) == 0) {
        merge(last, *result);
        return 0;
    }
    if (collect_spans_add(spans, *result, error) != 0)
        return -1;
    *result = NULL;
    return 0;
}

static int print_notes(const struct buf *notes, struct error *error)
{
    if (notes->length > 0 && io_write_all(STDOUT_FILENO, notes->data, notes->length) != 0)
        return error_system(error, errno, "cannot write the results to stdout");
    return 0;
}

static int take_part(void *context, const struct buf *text, struct error *error)
{
    struct spans *spans = context;
    struct replay_part part = {0};
    int result = replay_part_read(&part, text->data, text->length,
                                  spans->collection->options->replay.json, error);

    if (result == 0)
        result = print_notes(&part.notes, error);
    for (size_t i = 0; result == 0 && i < part.count; i++)
        result = take_result(spans, &part.results[i], error);
    replay_part_free(&part);
    return result;
}

/* As of gaspipe replay. */
static int exit_status(const struct spans *spans)
{
    const int status = collection_status(spans->collection);
    bool replayed = false;

    for (size_t i = 0; i < spans->count; i++) {
        if (spans->results[i]->status == REPLAY_DIFFERS)
            return ERROR_DELIVERY;
        replayed = replayed || spans->results[i]->counts.deliveries > 0;
    }
    return status == 0 && !replayed ? ERROR_INPUT : status;
}

int collect_spans(struct collection *collection, struct error *error)
{
    struct spans spans = {.collection = collection};
    int result = collection_each(collection, take_part, &spans, error);

    if (result == 0)
        result = replay_output(spans.results, spans.count, collection->options->replay.json, error);
    if (result == 0)
        result = exit_status(&spans);
    for (size_t i = 0; i < spans.count; i++) {
        replay_result_free(spans.results[i]);
        free(spans.results[i]);
    }
    free(spans.results);
    return result;
}
