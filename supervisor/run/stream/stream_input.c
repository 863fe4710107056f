/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/stream/stream_input.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "supervisor/run/stream/stream_thread.h"

/* What is read ahead. */
enum { AHEAD_LINES = 1024, AHEAD_BYTES = 16 << 20, PAUSE_MS = 500 };

struct stream_line {
    struct stream_line *next;
    int64_t number;
    size_t length;
    char text[];
};

struct stream_input {
    struct delivery_input base;
    struct delivery_input_listener listener;
    struct nats_reader reader; /* the thread's */
    uv_async_t arrived;        /* lines, or the failure */
    bool wanted;               /* the listener waits for a line */
    bool failed;               /* ... and was told that there will be none */

    struct stream_thread thread; /* whose lock guards the rest */
    struct stream_line *first, *last;
    size_t count, bytes;
    struct error failure; /* ERROR_NONE: there is none */
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

static void append_line(struct stream_input *input, struct stream_line *line)
{
    stream_thread_lock(&input->thread);
    if (input->last != NULL)
        input->last->next = line;
    else
        input->first = line;
    input->last = line;
    input->count++;
    input->bytes += line->length;
    stream_thread_unlock(&input->thread);
}

static void report_gap(const struct stream_input *input, uint64_t sequence)
{
    if (sequence > input->reader.next)
        log_line("%s: messages %llu to %llu are not in the stream any more", input->base.name,
                 (unsigned long long)input->reader.next, (unsigned long long)sequence - 1);
}

static int take_in(void *context, uint64_t sequence, const char *bytes, size_t length,
                   struct error *error)
{
    struct stream_input *input = context;
    struct stream_line *line;

    report_gap(input, sequence);
    if (sequence > INT64_MAX)
        return error_set(error, ERROR_INPUT, "%s: a sequence number out of range",
                         input->base.name);
    if (is_blank_message(bytes, length))
        return 0;
    line = malloc(sizeof *line + length);
    if (line == NULL)
        return error_memory(error, "a message");
    *line = (struct stream_line){.number = (int64_t)sequence, .length = length};
    memcpy(line->text, bytes, length);
    append_line(input, line);
    uv_async_send(&input->arrived);
    return 0;
}

/* False: the input is closing. */
static bool wait_for_room(struct stream_input *input)
{
    bool goes_on;

    stream_thread_lock(&input->thread);
    while (!input->thread.stopping && (input->count >= AHEAD_LINES || input->bytes >= AHEAD_BYTES))
        stream_thread_wait(&input->thread);
    goes_on = !input->thread.stopping;
    stream_thread_unlock(&input->thread);
    return goes_on;
}

static void fail_input(struct stream_input *input, const struct error *error)
{
    stream_thread_lock(&input->thread);
    input->failure = *error;
    stream_thread_unlock(&input->thread);
    uv_async_send(&input->arrived);
}

static void *read_stream(void *context)
{
    struct stream_input *input = context;
    struct error error;
    bool away = false;

    while (wait_for_room(input)) {
        if (nats_reader_fetch(&input->reader, take_in, input, &error) == 0) {
            if (away)
                log_line("%s: the stream is there again", input->base.name);
            away = false;
            continue;
        }
        if (error.kind == ERROR_INPUT) {
            fail_input(input, &error);
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

/* Takes the first line out; NULL: there is none. The caller frees it. */
static struct stream_line *take_first(struct stream_input *input)
{
    struct stream_line *line;

    stream_thread_lock(&input->thread);
    line = input->first;
    if (line != NULL) {
        input->first = line->next;
        if (input->first == NULL)
            input->last = NULL;
        input->count--;
        input->bytes -= line->length;
        stream_thread_signal(&input->thread);
    }
    stream_thread_unlock(&input->thread);
    return line;
}

static bool has_failed(struct stream_input *input, struct error *error)
{
    stream_thread_lock(&input->thread);
    *error = input->failure;
    stream_thread_unlock(&input->thread);
    return error->kind != ERROR_NONE;
}

static void stream_input_next(struct delivery_input *base)
{
    struct stream_input *input = of_stream(base);
    struct stream_line *line = take_first(input);
    struct error error;

    if (line != NULL) {
        input->listener.line(input->listener.context, line->text, line->length, line->number);
        free(line);
    } else if (has_failed(input, &error)) {
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
    has = input->first != NULL || input->failure.kind != ERROR_NONE;
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
    const struct stream_line *line;

    stream_thread_lock(&input->thread);
    for (line = input->first; line != NULL && line->number <= *number; line = line->next)
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

static void free_input(uv_handle_t *handle)
{
    struct stream_input *input = handle->data;
    struct stream_line *line;

    while ((line = take_first(input)) != NULL)
        free(line);
    stream_thread_free(&input->thread);
    free(input);
}

static void stream_input_close(struct delivery_input *base)
{
    struct stream_input *input = of_stream(base);

    stream_thread_stop(&input->thread);
    natsConnection_Close(input->reader.link->connection); /* ends what the thread waits for */
    stream_thread_join(&input->thread);
    uv_close((uv_handle_t *)&input->arrived, free_input);
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
    uv_close((uv_handle_t *)&input->arrived, free_input);
    return NULL;
}
