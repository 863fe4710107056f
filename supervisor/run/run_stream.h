/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_STREAM_H
#define GASPIPE_SUPERVISOR_RUN_RUN_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "supervisor/nats.h"
#include "supervisor/run/delivery_input.h"
#include "supervisor/run/run_options.h"

/* Lines that are the messages of a JetStream stream, numbered by their sequence numbers. It has no
 * end; failed() is called if the stream has lost messages that are due. A thread waits for the
 * servers, and retries when they are not reachable. */

/* The messages after number `after`. Takes over the reader, which was opened; its link must live
 * until the input is closed, which closes the connection. NULL with ERROR_SYSTEM. */
struct delivery_input *stream_input_open(uv_loop_t *loop, const struct nats_reader *reader,
                                         int64_t after,
                                         const struct delivery_input_listener *listener,
                                         struct error *error);

/*
 * Publishes results of lines to SUBJECT.NUMBER, in the order in which they were added. The
 * message ID is "IDENTITY.NUMBER", and a subject has one message, so a result that is published
 * again is dropped. A thread waits for the servers, and tries again when they are away.
 */
struct stream_results;

struct stream_results_listener {
    void *context;
    /* Lines may be read again, after stream_results_are_full(). */
    void (*caught_up)(void *context);
    /* A result cannot be published: the subject has that of another run. */
    void (*failed)(void *context, const struct error *error);
};

/* Texts are borrowed, and the writer was opened. */
struct stream_results_options {
    uv_loop_t *loop;
    struct nats_writer writer;
    const char *subject;
    const char *identity;
};

/* Adds the result of a line, which waits for its release. -1 with ERROR_SYSTEM. */
int stream_results_add(struct stream_results *results, int64_t line, const char *text,
                       size_t length, struct error *error);

/* The next `count` of those that wait are durable, and may be published. */
void stream_results_release(struct stream_results *results, size_t count);

/* Drops those that wait for their release. */
void stream_results_clear(struct stream_results *results);

/* How many were stored by the server since the last call. */
size_t stream_results_take_stored(struct stream_results *results);

/* Too many results are unpublished: no line should be read before caught_up(). */
bool stream_results_are_full(struct stream_results *results);

/*
 * Publishes what was released, as long as the server takes it, and ends the thread. What is left is
 * published by the next run.
 */
void stream_results_finish(struct stream_results *results);

/* After stream_results_finish(). NULL is allowed. Freed when the loop has closed its handle. */
void stream_results_close(struct stream_results *results);

enum { RUN_STREAM_IDENTITY_SIZE = NATS_STREAM_SIZE + 24 };

/* The connection of `gaspipe run --from`: the stream of lines, and where results go. */
struct run_stream {
    struct nats_address address;
    struct nats_link link;
    struct nats_reader reader;
    char identity[RUN_STREAM_IDENTITY_SIZE]; /* its name and when it was made */
    struct stream_results *results;          /* NULL: they are not published */
};

/*
 * Connects, and checks the streams. The options are borrowed. NULL with ERROR_INPUT or
 * ERROR_SYSTEM.
 */
struct run_stream *run_stream_open(const struct run_options *options, uv_loop_t *loop,
                                   const struct stream_results_listener *listener,
                                   struct error *error);

/* When the loop has run to its end, and the input is closed. NULL is allowed. */
void run_stream_free(struct run_stream *stream);

#endif
