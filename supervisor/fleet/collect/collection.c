/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/collect/collection.h"

#include <string.h>

#include "base/log.h"

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

        log_line("set aside: %s: %.*s", job->name, (int)(length - from), words.data + from);
    }
    buf_free(&words);
    return result;
}

static int hand_over(struct collection *collection, const struct fleet_run_job *job,
                     collection_take *take, void *context, struct error *error)
{
    struct fleet_transport *transport = collection->transport;
    struct buf text = {0};
    int result = transport->operations->get_result(transport, job->id, &text, error);

    if (result == 0)
        result = take(context, &text, error);
    buf_free(&text);
    return result;
}

static int take_job(struct collection *collection, const struct fleet_run_job *job,
                    collection_take *take, void *context, struct error *error)
{
    struct fleet_transport *transport = collection->transport;
    enum fleet_state state;

    if (transport->operations->state(transport, job->id, &state, error) != 0)
        return -1;
    if (state == FLEET_DONE)
        return hand_over(collection, job, take, context, error);
    if (state == FLEET_ASIDE)
        return tell_aside(collection, job, error);
    collection->cancelled += state == FLEET_CANCELLED;
    collection->missing += state != FLEET_CANCELLED;
    return 0;
}

int collection_each(struct collection *collection, collection_take *take, void *context,
                    struct error *error)
{
    const struct fleet_run *run = &collection->run;
    const char *items = run->kind->items;

    for (size_t i = 0; i < run->count; i++)
        if (take_job(collection, &run->jobs[i], take, context, error) != 0)
            return -1;
    if (collection->missing > 0 && !collection->options->partial)
        return error_set(error, ERROR_INPUT,
                         "the run %s: %zu of %zu %s are not done; --partial collects the others",
                         run->name, collection->missing, run->count, items);
    if (collection->missing + collection->cancelled > 0)
        log_line("the run %s: %zu of %zu %s are not done, %zu of these are cancelled", run->name,
                 collection->missing + collection->cancelled, run->count, items,
                 collection->cancelled);
    return 0;
}

int collection_status(const struct collection *collection)
{
    if (collection->aside > 0)
        return ERROR_SYSTEM;
    return collection->missing + collection->cancelled == 0 ? 0 : ERROR_INPUT;
}
