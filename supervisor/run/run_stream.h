/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_STREAM_H
#define GASPIPE_SUPERVISOR_RUN_RUN_STREAM_H

#include <uv.h>

#include "base/error.h"
#include "supervisor/nats.h"
#include "supervisor/run/run_options.h"
#include "supervisor/run/stream/stream_results.h"

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
