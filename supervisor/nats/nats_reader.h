/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_NATS_NATS_READER_H
#define GASPIPE_SUPERVISOR_NATS_NATS_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/nats/nats_link.h"

/*
 * The messages of a JetStream stream in their order, from any sequence number on. The server keeps
 * no place for the reader, who knows its own. Calls wait; they belong in a thread of their own.
 */
struct nats_reader {
    struct nats_link *link; /* borrowed, like the name */
    const char *stream;
    int64_t created; /* nanoseconds since the epoch: tells a stream from a later one of its name */
    uint64_t next;   /* sequence number of the message that comes next */

    natsSubscription *subscription; /* NULL: the server has no consumer of ours */
    uint64_t pending;               /* messages that the server had after the last one */
    int missing;                    /* times in a row that the stream was not found */
};

/*
 * Checks that the stream is there and keeps its messages; sets `created`. `next` is 1 then. -1 with
 * ERROR_INPUT (no such stream, one of another shape, not authorized) or ERROR_SYSTEM.
 */
int nats_reader_open(struct nats_reader *reader, struct nats_link *link, const char *stream,
                     struct error *error);

/*
 * Waits up to a second for messages, and calls each() with those that came. -1 with ERROR_INPUT:
 * the stream has lost messages that are due, or is another one; ERROR_SYSTEM: it may be repeated,
 * after a pause, and goes on where it was.
 */
int nats_reader_fetch(struct nats_reader *reader,
                      int (*each)(void *context, uint64_t sequence, const char *bytes,
                                  size_t length, struct error *error),
                      void *context, struct error *error);

/* The link stays open. All zeros may be closed. */
void nats_reader_close(struct nats_reader *reader);

#endif
