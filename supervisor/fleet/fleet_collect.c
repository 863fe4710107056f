/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet_collect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/io.h"
#include "base/log.h"
#include "supervisor/fleet/fleet_run.h"
#include "supervisor/replay/output/replay_output.h"
#include "supervisor/replay/output/replay_part.h"

struct collection {
    const struct fleet_options *options;
    struct fleet_transport *transport;
    struct fleet_run run;
    struct replay_result **results; /* owned */
    size_t count, capacity;
    size_t missing, aside, cancelled;
};

/* ---- results ---- */

static int fleet_collect_add(struct collection *collection, struct replay_result *result,
                             struct error *error)
{
    struct replay_result **results = array_reserve(collection->results, &collection->capacity,
                                                   collection->count + 1, sizeof *results);

    if (results == NULL)
        return error_memory(error, "the results");
    collection->results = results;
    results[collection->count++] = result;
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
static int fleet_collect_take_result(struct collection *collection, struct replay_result **result,
                                     struct error *error)
{
    struct replay_result *last =
        collection->count > 0 ? collection->results[collection->count - 1] : NULL;

    if (!collection->options->spans && last != NULL && strcmp(last->id, (*result)->id) == 0 &&
        strcmp(last->name, (*result)->name) == 0) {
        merge(last, *result);
        return 0;
    }
    if (fleet_collect_add(collection, *result, error) != 0)
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

static int take_done(struct collection *collection, const struct fleet_run_job *job,
                     struct error *error)
{
    struct fleet_transport *transport = collection->transport;
    struct replay_part part = {0};
    struct buf text = {0};
    int result = transport->operations->get_result(transport, job->id, &text, error);

    if (result == 0)
        result = replay_part_read(&part, text.data, text.length, collection->options->replay.json,
                                  error);
    if (result == 0)
        result = print_notes(&part.notes, error);
    for (size_t i = 0; result == 0 && i < part.count; i++)
        result = fleet_collect_take_result(collection, &part.results[i], error);
    replay_part_free(&part);
    buf_free(&text);
    return result;
}

/* ---- what is not done ---- */

static int tell_aside(struct collection *collection, const struct fleet_run_job *job,
                      struct error *error)
{
    struct fleet_transport *transport = collection->transport;
    struct buf words = {0};
    int result = transport->operations->get_words(transport, job->id, &words, error);
    size_t length = words.length;

    collection->aside++;
    while (length > 0 && words.data[length - 1] == '\n')
        length--;
    if (result == 0) {
        const char *last = memrchr(words.data, '\n', length);
        const size_t from = last != NULL ? (size_t)(last + 1 - words.data) : 0;

        log_line("set aside: %s: %.*s", job->vat_id, (int)(length - from), words.data + from);
    }
    buf_free(&words);
    return result;
}

static int take_job(struct collection *collection, const struct fleet_run_job *job,
                    struct error *error)
{
    struct fleet_transport *transport = collection->transport;
    enum fleet_state state;

    if (transport->operations->state(transport, job->id, &state, error) != 0)
        return -1;
    if (state == FLEET_DONE)
        return take_done(collection, job, error);
    if (state == FLEET_ASIDE)
        return tell_aside(collection, job, error);
    collection->cancelled += state == FLEET_CANCELLED;
    collection->missing += state != FLEET_CANCELLED;
    return 0;
}

static int exit_status(const struct collection *collection)
{
    bool replayed = false;

    for (size_t i = 0; i < collection->count; i++) {
        if (collection->results[i]->status == REPLAY_DIFFERS)
            return ERROR_DELIVERY;
        replayed = replayed || collection->results[i]->counts.deliveries > 0;
    }
    if (collection->aside > 0)
        return ERROR_SYSTEM;
    return replayed && collection->missing + collection->cancelled == 0 ? 0 : ERROR_INPUT;
}

static int collect(struct collection *collection, struct error *error)
{
    const struct fleet_options *options = collection->options;
    int result = fleet_run_get(&collection->run, options->run, collection->transport, error);

    for (size_t i = 0; result == 0 && i < collection->run.count; i++)
        result = take_job(collection, &collection->run.jobs[i], error);
    if (result != 0)
        return -1;
    if (collection->missing > 0 && !options->partial)
        return error_set(error, ERROR_INPUT,
                         "the run %s: %zu of %zu spans are not done; --partial collects the others",
                         collection->run.name, collection->missing, collection->run.count);
    if (collection->missing + collection->cancelled > 0)
        log_line("the run %s: %zu of %zu spans are not done, %zu of these are cancelled",
                 collection->run.name, collection->missing + collection->cancelled,
                 collection->run.count, collection->cancelled);
    if (replay_output(collection->results, collection->count, options->replay.json, error) != 0)
        return -1;
    return exit_status(collection);
}

int fleet_collect(const struct fleet_options *options, struct fleet_transport *transport,
                  struct error *error)
{
    struct collection collection = {.options = options, .transport = transport};
    int result = collect(&collection, error);

    for (size_t i = 0; i < collection.count; i++) {
        replay_result_free(collection.results[i]);
        free(collection.results[i]);
    }
    free(collection.results);
    fleet_run_free(&collection.run);
    return result;
}
