/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/stream/stream_results.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "supervisor/run/stream/stream_thread.h"

/* Results that may wait, and an ID and a subject with a number. */
enum { BEHIND = 4096, CAUGHT_UP = BEHIND / 2, PAUSE_MS = 500, NAME_SIZE = 1024 };

struct stream_result {
    struct stream_result *next;
    int64_t line;
    size_t length;
    char text[];
};

struct stream_results {
    struct stream_results_options options; /* its writer is the thread's */
    struct stream_results_listener listener;
    uv_async_t news;
    bool told; /* of the failure */
    bool held; /* the owner waits for caught_up() */

    struct stream_thread thread; /* whose lock guards the rest */
    struct stream_result *first, *last;
    size_t count;    /* of the list */
    size_t released; /* of these, from the first */
    size_t stored;   /* since stream_results_take_stored() */
    struct error failure;
};

/* ---- the thread ---- */

/* Waits for a result that may be published, and leaves it in the list. NULL: it is time to end. */
static const struct stream_result *wait_for_released(struct stream_results *results)
{
    const struct stream_result *first;

    stream_thread_lock(&results->thread);
    while (results->released == 0 && !results->thread.stopping)
        stream_thread_wait(&results->thread);
    first = results->released > 0 ? results->first : NULL;
    stream_thread_unlock(&results->thread);
    return first;
}

static struct stream_result *unlink_first(struct stream_results *results)
{
    struct stream_result *first = results->first;

    results->first = first->next;
    if (results->first == NULL)
        results->last = NULL;
    results->count--;
    return first;
}

static void drop_stored(struct stream_results *results)
{
    struct stream_result *first;
    bool caught_up;

    stream_thread_lock(&results->thread);
    first = unlink_first(results);
    results->released--;
    results->stored++;
    caught_up = results->count == CAUGHT_UP;
    stream_thread_unlock(&results->thread);
    free(first);
    if (caught_up)
        uv_async_send(&results->news);
}

static int put_result(struct stream_results *results, const struct stream_result *result,
                      struct error *error)
{
    char subject[NAME_SIZE], id[NAME_SIZE];

    snprintf(subject, sizeof subject, "%s.%" PRId64, results->options.subject, result->line);
    snprintf(id, sizeof id, "%s.%" PRId64, results->options.identity, result->line);
    return nats_writer_put(&results->options.writer, subject, id, result->text, result->length,
                           error);
}

static void fail_results(struct stream_results *results, const struct error *error)
{
    stream_thread_lock(&results->thread);
    results->failure = *error;
    stream_thread_unlock(&results->thread);
    uv_async_send(&results->news);
}

static void *publish_results(void *context)
{
    struct stream_results *results = context;
    const struct stream_result *result;
    struct error error;
    bool away = false;

    while ((result = wait_for_released(results)) != NULL) {
        if (put_result(results, result, &error) == 0) {
            drop_stored(results);
            if (away)
                log_line("results are published again");
            away = false;
            continue;
        }
        if (error.kind == ERROR_INPUT) {
            fail_results(results, &error);
            break;
        }
        if (!away)
            log_line("%s; trying again", error.text);
        away = true;
        if (!stream_thread_pause(&results->thread, PAUSE_MS))
            break;
    }
    return NULL;
}

/* ---- the loop ---- */

int stream_results_add(struct stream_results *results, int64_t line, const char *text,
                       size_t length, struct error *error)
{
    struct stream_result *added = malloc(sizeof *added + length);

    if (added == NULL)
        return error_memory(error, "a result");
    *added = (struct stream_result){.line = line, .length = length};
    memcpy(added->text, text, length);
    stream_thread_lock(&results->thread);
    if (results->last != NULL)
        results->last->next = added;
    else
        results->first = added;
    results->last = added;
    results->count++;
    stream_thread_unlock(&results->thread);
    return 0;
}

void stream_results_release(struct stream_results *results, size_t count)
{
    stream_thread_lock(&results->thread);
    results->released += count;
    if (results->released > results->count)
        results->released = results->count;
    stream_thread_signal(&results->thread);
    stream_thread_unlock(&results->thread);
}

/* Only before the first release: the thread holds none of them. */
void stream_results_clear(struct stream_results *results)
{
    stream_thread_lock(&results->thread);
    while (results->released == 0 && results->first != NULL)
        free(unlink_first(results));
    stream_thread_unlock(&results->thread);
}

size_t stream_results_take_stored(struct stream_results *results)
{
    size_t stored;

    stream_thread_lock(&results->thread);
    stored = results->stored;
    results->stored = 0;
    stream_thread_unlock(&results->thread);
    return stored;
}

bool stream_results_are_behind(struct stream_results *results)
{
    stream_thread_lock(&results->thread);
    results->held = results->count >= BEHIND;
    stream_thread_unlock(&results->thread);
    return results->held;
}

static void on_news(uv_async_t *news)
{
    struct stream_results *results = news->data;
    struct error error;
    bool caught_up;

    stream_thread_lock(&results->thread);
    error = results->failure;
    caught_up = results->held && results->count < BEHIND;
    stream_thread_unlock(&results->thread);
    if (error.kind != ERROR_NONE && !results->told) {
        results->told = true;
        results->listener.failed(results->listener.context, &error);
    } else if (caught_up) {
        results->held = false;
        results->listener.caught_up(results->listener.context);
    }
}

/* ---- beginning and end ---- */

struct stream_results *stream_results_open(const struct stream_results_options *options,
                                           const struct stream_results_listener *listener,
                                           struct error *error)
{
    struct stream_results *results = calloc(1, sizeof *results);

    if (results == NULL) {
        error_memory(error, "the results");
        return NULL;
    }
    results->options = *options;
    results->listener = *listener;
    stream_thread_init(&results->thread);
    (void)uv_async_init(options->loop, &results->news,
                        on_news); /* fails without descriptors only */
    results->news.data = results;
    if (stream_thread_start(&results->thread, publish_results, results, error) == 0)
        return results;
    stream_results_close(results);
    return NULL;
}

void stream_results_finish(struct stream_results *results)
{
    stream_thread_stop(&results->thread);
    stream_thread_join(&results->thread);
}

static void free_results(uv_handle_t *handle)
{
    struct stream_results *results = handle->data;

    while (results->first != NULL)
        free(unlink_first(results));
    stream_thread_free(&results->thread);
    free(results);
}

void stream_results_close(struct stream_results *results)
{
    if (results != NULL)
        uv_close((uv_handle_t *)&results->news, free_results);
}
