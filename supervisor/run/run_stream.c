/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/thread.h"

/* ---- a thread that waits for servers ---- */

/* A line that was read, or a result that is to be published. */
struct stream_message {
    struct stream_message *next;
    int64_t number; /* of the line */
    size_t length;
    char text[];
};

/* A thread that waits for NATS servers so that the event loop need not, and what both use. The lock
 * guards all members that follow it. */
struct stream_thread {
    pthread_t thread; /* the loop's, like `running` */
    bool running;
    pthread_cond_t changed; /* one of the members that the lock guards */
    pthread_mutex_t lock;
    bool stopping;
    struct stream_message *first, *last;
    size_t count, bytes;
    struct error failure; /* ERROR_NONE if it has not failed */
};

static void stream_thread_init(struct stream_thread *thread)
{
    pthread_condattr_t attributes;

    *thread = (struct stream_thread){0};
    /* None of these fails on Linux with these arguments. */
    (void)pthread_mutex_init(&thread->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&thread->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/* 0, or -1 with ERROR_SYSTEM. */
static int stream_thread_start(struct stream_thread *thread, void *(*run)(void *), void *context,
                               struct error *error)
{
    const int result = thread_start(&thread->thread, run, context);

    thread->running = result == 0;
    return result == 0 ? 0 : error_system(error, result, "cannot start a thread");
}

static void stream_thread_lock(struct stream_thread *thread)
{
    (void)pthread_mutex_lock(&thread->lock);
}

static void stream_thread_unlock(struct stream_thread *thread)
{
    (void)pthread_mutex_unlock(&thread->lock);
}

/* With the lock: wakes the thread, or waits to be woken. */
static void stream_thread_signal(struct stream_thread *thread)
{
    (void)pthread_cond_signal(&thread->changed);
}

static void stream_thread_wait(struct stream_thread *thread)
{
    (void)pthread_cond_wait(&thread->changed, &thread->lock);
}

/* From the thread: waits so long. False: it is stopping. */
static bool stream_thread_pause(struct stream_thread *thread, int milliseconds)
{
    struct timespec end;
    bool continues;

    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    end.tv_sec += milliseconds / 1000 + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    stream_thread_lock(thread);
    while (!thread->stopping &&
           pthread_cond_timedwait(&thread->changed, &thread->lock, &end) != ETIMEDOUT)
        ;
    continues = !thread->stopping;
    stream_thread_unlock(thread);
    return continues;
}

/* Asks the thread to stop; then waits for its end. */
static void stream_thread_stop(struct stream_thread *thread)
{
    stream_thread_lock(thread);
    thread->stopping = true;
    stream_thread_signal(thread);
    stream_thread_unlock(thread);
}

static void stream_thread_join(struct stream_thread *thread)
{
    if (thread->running)
        (void)pthread_join(thread->thread, NULL);
    thread->running = false;
}

/* NULL if out of memory. */
static struct stream_message *stream_message_new(int64_t number, const char *text, size_t length)
{
    struct stream_message *message = malloc(sizeof *message + length);

    if (message == NULL)
        return NULL;
    *message = (struct stream_message){.number = number, .length = length};
    memcpy(message->text, text, length);
    return message;
}

static void stream_thread_append(struct stream_thread *thread, struct stream_message *message)
{
    stream_thread_lock(thread);
    if (thread->last != NULL)
        thread->last->next = message;
    else
        thread->first = message;
    thread->last = message;
    thread->count++;
    thread->bytes += message->length;
    stream_thread_unlock(thread);
}

/* With the lock: unlinks the first message, which the caller frees; or NULL. */
static struct stream_message *stream_thread_unlink(struct stream_thread *thread)
{
    struct stream_message *first = thread->first;

    if (first == NULL)
        return NULL;
    thread->first = first->next;
    if (thread->first == NULL)
        thread->last = NULL;
    thread->count--;
    thread->bytes -= first->length;
    return first;
}

/* After its end. */
static void stream_thread_free(struct stream_thread *thread)
{
    struct stream_message *message;

    while ((message = stream_thread_unlink(thread)) != NULL)
        free(message);
    (void)pthread_cond_destroy(&thread->changed);
    (void)pthread_mutex_destroy(&thread->lock);
}

/* From the thread: wakes the loop, which reports the failure. */
static void stream_thread_fail(struct stream_thread *thread, const struct error *error,
                               uv_async_t *wake)
{
    stream_thread_lock(thread);
    thread->failure = *error;
    stream_thread_unlock(thread);
    uv_async_send(wake);
}

/* ---- deliveries ---- */

/* Lines and bytes that are read ahead at most, and the pause after a failure. */
enum { AHEAD_LINES = 1024, AHEAD_BYTES = 16 << 20, PAUSE_MS = 500 };

/* The loop's, but for `reader` and what the lock of `thread` guards. */
struct stream_input {
    struct delivery_input base; /* the thread reads its name, which stays */
    struct delivery_input_listener listener;
    struct nats_reader reader; /* the thread's, from its start to its end */
    uv_async_t arrived;        /* lines, or the failure; the thread sends it */
    bool wanted;               /* the listener waits for a line */
    bool failed;               /* it was notified of the failure */

    struct stream_thread thread; /* its messages are lines */
};

static struct stream_input *of_stream(struct delivery_input *base)
{
    return (struct stream_input *)base; /* its first member */
}

/* ---- the thread ---- */

static bool is_blank_message(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (strchr(" \t\r\n", bytes[i]) == NULL)
            return false;
    return true;
}

static void report_gap(const struct stream_input *input, uint64_t sequence)
{
    if (sequence > input->reader.next)
        log_line("%s: messages %llu to %llu are no longer in the stream", input->base.name,
                 (unsigned long long)input->reader.next, (unsigned long long)sequence - 1);
}

static int queue_stream_line(void *context, uint64_t sequence, const char *bytes, size_t length,
                             struct error *error)
{
    struct stream_input *input = context;
    struct stream_message *line;

    report_gap(input, sequence);
    if (sequence > INT64_MAX)
        return error_set(error, ERROR_INPUT, "%s: a sequence number out of range",
                         input->base.name);
    if (is_blank_message(bytes, length))
        return 0;
    line = stream_message_new((int64_t)sequence, bytes, length);
    if (line == NULL)
        return error_memory(error, "a message");
    stream_thread_append(&input->thread, line);
    uv_async_send(&input->arrived);
    return 0;
}

/* False: the input is closing. */
static bool wait_for_input_space(struct stream_input *input)
{
    bool continues;

    stream_thread_lock(&input->thread);
    while (!input->thread.stopping &&
           (input->thread.count >= AHEAD_LINES || input->thread.bytes >= AHEAD_BYTES))
        stream_thread_wait(&input->thread);
    continues = !input->thread.stopping;
    stream_thread_unlock(&input->thread);
    return continues;
}

static void *read_stream(void *context)
{
    struct stream_input *input = context;
    struct error error;
    bool away = false;

    while (wait_for_input_space(input)) {
        if (nats_reader_fetch(&input->reader, queue_stream_line, input, &error) == 0) {
            if (away)
                log_line("%s: the stream is there again", input->base.name);
            away = false;
            continue;
        }
        if (error.kind == ERROR_INPUT) {
            stream_thread_fail(&input->thread, &error, &input->arrived);
            break;
        }
        if (!stream_thread_pause(&input->thread, PAUSE_MS))
            break;
        if (!away)
            log_line("%s; trying again", error.text);
        away = true;
    }
    nats_reader_close(&input->reader);
    return NULL;
}

/* ---- the loop ---- */

/* Unlinks the first line, which the caller frees; NULL if none has arrived. */
static struct stream_message *take_first(struct stream_input *input)
{
    struct stream_message *line;

    stream_thread_lock(&input->thread);
    line = stream_thread_unlink(&input->thread);
    if (line != NULL)
        stream_thread_signal(&input->thread);
    stream_thread_unlock(&input->thread);
    return line;
}

static bool stream_has_failed(struct stream_input *input, struct error *error)
{
    stream_thread_lock(&input->thread);
    *error = input->thread.failure;
    stream_thread_unlock(&input->thread);
    return error->kind != ERROR_NONE;
}

static void stream_input_next(struct delivery_input *base)
{
    struct stream_input *input = of_stream(base);
    struct stream_message *line = take_first(input);
    struct error error;

    if (line != NULL) {
        input->listener.line(input->listener.context, line->text, line->length, line->number);
        free(line);
    } else if (stream_has_failed(input, &error)) {
        if (!input->failed) {
            input->failed = true;
            input->listener.failed(input->listener.context, &error);
        }
    } else if (input->listener.waiting(input->listener.context)) {
        input->wanted = true;
        /* A line may have come since. */
        uv_async_send(&input->arrived);
    }
}

static bool has_news(struct stream_input *input)
{
    bool has;

    stream_thread_lock(&input->thread);
    has = input->thread.first != NULL || input->thread.failure.kind != ERROR_NONE;
    stream_thread_unlock(&input->thread);
    return has;
}

static void on_arrived(uv_async_t *arrived)
{
    struct stream_input *input = arrived->data;

    if (!input->wanted || !has_news(input))
        return;
    input->wanted = false;
    stream_input_next(&input->base);
}

static bool stream_input_look(struct delivery_input *base, int64_t *number, const char **text,
                              size_t *length)
{
    struct stream_input *input = of_stream(base);
    const struct stream_message *line;

    stream_thread_lock(&input->thread);
    for (line = input->thread.first; line != NULL && line->number <= *number; line = line->next)
        ;
    stream_thread_unlock(&input->thread);
    if (line == NULL)
        return false;
    *number = line->number;
    *text = line->text;
    *length = line->length;
    return true;
}

/* ---- beginning and end ---- */

static void free_stream_input(uv_handle_t *handle)
{
    struct stream_input *input = handle->data;

    stream_thread_free(&input->thread);
    free(input);
}

static void stream_input_close(struct delivery_input *base)
{
    struct stream_input *input = of_stream(base);

    stream_thread_stop(&input->thread);
    natsConnection_Close(input->reader.link->connection); /* ends what the thread waits for */
    stream_thread_join(&input->thread);
    uv_close((uv_handle_t *)&input->arrived, free_stream_input);
}

struct delivery_input *stream_input_open(uv_loop_t *loop, const struct nats_reader *reader,
                                         int64_t after,
                                         const struct delivery_input_listener *listener,
                                         struct error *error)
{
    static const struct delivery_input_methods methods = {
        .next = stream_input_next, .look = stream_input_look, .close = stream_input_close};
    struct stream_input *input = calloc(1, sizeof *input);

    if (input == NULL) {
        error_memory(error, reader->stream);
        return NULL;
    }
    input->base = (struct delivery_input){.methods = &methods, .name = reader->stream};
    input->listener = *listener;
    input->reader = *reader;
    input->reader.next = (uint64_t)after + 1;
    stream_thread_init(&input->thread);
    (void)uv_async_init(loop, &input->arrived, on_arrived); /* fails without descriptors only */
    input->arrived.data = input;
    if (stream_thread_start(&input->thread, read_stream, input, error) == 0)
        return &input->base;
    uv_close((uv_handle_t *)&input->arrived, free_stream_input);
    return NULL;
}

/* ---- results ---- */

/* Results that may wait, and an ID and a subject with a number. */
enum { RESULTS_MAX = 4096, CAUGHT_UP = RESULTS_MAX / 2, NAME_SIZE = 1024 };

/* The loop's, but for the writer and what the lock of `thread` guards. */
struct stream_results {
    struct stream_results_options options; /* its writer is the thread's, from start to end */
    struct stream_results_listener listener;
    uv_async_t news; /* the thread sends it */
    bool reported;   /* of the failure */
    bool held;       /* the owner waits for caught_up() */

    struct stream_thread thread; /* its messages are results; its lock guards the rest */
    size_t released;             /* of the messages, from the first */
    size_t stored;               /* since stream_results_take_stored() */
};

/* ---- the thread ---- */

/* Waits for a result that may be published, and leaves it in the list. NULL: it is time to end. */
static const struct stream_message *wait_for_released(struct stream_results *results)
{
    const struct stream_message *first;

    stream_thread_lock(&results->thread);
    while (results->released == 0 && !results->thread.stopping)
        stream_thread_wait(&results->thread);
    first = results->released > 0 ? results->thread.first : NULL;
    stream_thread_unlock(&results->thread);
    return first;
}

static void drop_stored(struct stream_results *results)
{
    struct stream_message *first;
    bool caught_up;

    stream_thread_lock(&results->thread);
    first = stream_thread_unlink(&results->thread);
    results->released--;
    results->stored++;
    caught_up = results->thread.count == CAUGHT_UP;
    stream_thread_unlock(&results->thread);
    free(first);
    if (caught_up)
        uv_async_send(&results->news);
}

static int put_outcome(struct stream_results *results, const struct stream_message *result,
                       struct error *error)
{
    char subject[NAME_SIZE], id[NAME_SIZE];

    snprintf(subject, sizeof subject, "%s.%" PRId64, results->options.subject, result->number);
    snprintf(id, sizeof id, "%s.%" PRId64, results->options.identity, result->number);
    return nats_writer_put(&results->options.writer, subject, id, result->text, result->length,
                           error);
}

static void *publish_results(void *context)
{
    struct stream_results *results = context;
    const struct stream_message *result;
    struct error error;
    bool away = false;

    while ((result = wait_for_released(results)) != NULL) {
        if (put_outcome(results, result, &error) == 0) {
            drop_stored(results);
            if (away)
                log_line("results are published again");
            away = false;
            continue;
        }
        if (error.kind == ERROR_INPUT) {
            stream_thread_fail(&results->thread, &error, &results->news);
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
    struct stream_message *added = stream_message_new(line, text, length);

    if (added == NULL)
        return error_memory(error, "a result");
    stream_thread_append(&results->thread, added);
    return 0;
}

void stream_results_release(struct stream_results *results, size_t count)
{
    stream_thread_lock(&results->thread);
    results->released += count;
    if (results->released > results->thread.count)
        results->released = results->thread.count;
    stream_thread_signal(&results->thread);
    stream_thread_unlock(&results->thread);
}

/* Only before the first release: the thread holds none of them. */
void stream_results_clear(struct stream_results *results)
{
    stream_thread_lock(&results->thread);
    while (results->released == 0 && results->thread.first != NULL)
        free(stream_thread_unlink(&results->thread));
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

bool stream_results_are_full(struct stream_results *results)
{
    stream_thread_lock(&results->thread);
    results->held = results->thread.count >= RESULTS_MAX;
    stream_thread_unlock(&results->thread);
    return results->held;
}

static void on_news(uv_async_t *news)
{
    struct stream_results *results = news->data;
    struct error error;
    bool caught_up;

    stream_thread_lock(&results->thread);
    error = results->thread.failure;
    caught_up = results->held && results->thread.count < RESULTS_MAX;
    stream_thread_unlock(&results->thread);
    if (error.kind != ERROR_NONE && !results->reported) {
        results->reported = true;
        results->listener.failed(results->listener.context, &error);
    } else if (caught_up) {
        results->held = false;
        results->listener.caught_up(results->listener.context);
    }
}

/* ---- beginning and end ---- */

/* NULL with ERROR_SYSTEM. */
static struct stream_results *stream_results_open(const struct stream_results_options *options,
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

    stream_thread_free(&results->thread);
    free(results);
}

void stream_results_close(struct stream_results *results)
{
    if (results != NULL)
        uv_close((uv_handle_t *)&results->news, free_results);
}

/* ---- both ---- */

static int open_stream(struct run_stream *stream, const struct run_options *options,
                       struct error *error)
{
    struct nats_access access = options->nats;

    if (nats_address_parse(&stream->address, options->from, error) != 0)
        return -1;
    access.url = stream->address.url;
    if (nats_link_open(&stream->link, &access, error) != 0 ||
        nats_reader_open(&stream->reader, &stream->link, stream->address.stream, error) != 0)
        return -1;
    snprintf(stream->identity, sizeof stream->identity, "%s.%" PRId64, stream->address.stream,
             stream->reader.created);
    return 0;
}

/* Results that are read as lines would make more results, without end. */
static int open_results(struct run_stream *stream, const struct run_options *options,
                        uv_loop_t *loop, const struct stream_results_listener *listener,
                        struct error *error)
{
    struct stream_results_options results = {
        .loop = loop,
        .subject = options->results_to,
        .identity = stream->identity,
    };
    char subject[NATS_URL_SIZE];

    snprintf(subject, sizeof subject, "%s.1", options->results_to);
    if (nats_writer_open(&results.writer, &stream->link, subject, error) != 0)
        return -1;
    if (strcmp(results.writer.stream, stream->address.stream) == 0)
        return error_set(error, ERROR_INPUT, "%s: results to %s would be lines of the stream %s",
                         stream->link.name, options->results_to, stream->address.stream);
    stream->results = stream_results_open(&results, listener, error);
    return stream->results != NULL ? 0 : -1;
}

struct run_stream *run_stream_open(const struct run_options *options, uv_loop_t *loop,
                                   const struct stream_results_listener *listener,
                                   struct error *error)
{
    struct run_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL) {
        error_memory(error, "the stream");
        return NULL;
    }
    if (open_stream(stream, options, error) == 0 &&
        (options->results_to == NULL || open_results(stream, options, loop, listener, error) == 0))
        return stream;
    run_stream_free(stream);
    return NULL;
}

void run_stream_free(struct run_stream *stream)
{
    if (stream == NULL)
        return;
    nats_link_close(&stream->link);
    free(stream);
}
