/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_STREAM_STREAM_RESULTS_H
#define GASPIPE_SUPERVISOR_RUN_STREAM_STREAM_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "supervisor/nats.h"

/*
 * Publishes results of lines to SUBJECT.NUMBER, in the order in which they were added. The
 * message ID is "IDENTITY.NUMBER", and a subject has one message, so a result that is published
 * again is dropped. A thread waits for the servers, and tries again when they are away.
 */
struct stream_results;

struct stream_results_listener {
    void *context;
    /* There is room again, after stream_results_are_behind(). */
    void (*caught_up)(void *context);
    /* A result cannot be published: the subject has that of another run. */
    void (*failed)(void *context, const struct error *error);
};

/* What is published and how; texts are borrowed, and the writer was opened. */
struct stream_results_options {
    uv_loop_t *loop;
    struct nats_writer writer;
    const char *subject;
    const char *identity;
};

/* NULL with ERROR_SYSTEM. */
struct stream_results *stream_results_open(const struct stream_results_options *options,
                                           const struct stream_results_listener *listener,
                                           struct error *error);

/* Adds the result of a line, which waits for its release. -1 with ERROR_SYSTEM. */
int stream_results_add(struct stream_results *results, int64_t line, const char *text,
                       size_t length, struct error *error);

/* The next `count` of those that wait are durable, and may be published. */
void stream_results_release(struct stream_results *results, size_t count);

/* Drops those that wait for their release. */
void stream_results_clear(struct stream_results *results);

/* How many were stored by the server since the last call. */
size_t stream_results_take_stored(struct stream_results *results);

/* Many are not published yet: no line should be taken in before caught_up(). */
bool stream_results_are_behind(struct stream_results *results);

/*
 * Publishes what was released, as long as the server takes it, and ends the thread. What is left is
 * published by the next run.
 */
void stream_results_finish(struct stream_results *results);

/* After stream_results_finish(). NULL is allowed. Freed when the loop has closed its handle. */
void stream_results_close(struct stream_results *results);

#endif
