/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_NODE_ADDON_FRAME_CHANNEL_H
#define GASPIPE_NODE_ADDON_FRAME_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "proto/netstring.h"

/*
 * Netstring frames through two pipes to and from a worker, without an event loop: each call
 * waits for the worker for a bounded time and then returns, so that the caller's loop can wait
 * instead. Knows nothing of Node.
 */

enum { FRAME_CHANNEL_INPUT = 64 * 1024 };

enum frame_channel_result {
    FRAME_CHANNEL_FRAME, /* a frame is whole */
    FRAME_CHANNEL_LATER, /* it did not come in time */
    FRAME_CHANNEL_ENDED, /* the worker closed its end, between frames */
    FRAME_CHANNEL_BAD,   /* no netstring, a read that failed, or memory: see the error; for good */
};

struct frame_channel {
    int in, out; /* in non-blocking mode; owned; -1: closed */
    struct netstring_decoder decoder;
    struct buf unsent; /* what the pipe has not taken yet */
    bool unheard;      /* nobody reads what is sent */
    size_t at, filled; /* of the input: decoded so far, and read */
    int64_t moved;     /* CLOCK_MONOTONIC, nanoseconds: the last frame's last byte was read, or
                          the last frame began to be written */
    char input[FRAME_CHANNEL_INPUT];
};

/*
 * Takes the descriptors over, also on failure. A frame from the worker of more than `cap`
 * bytes is bad. -1 with ERROR_SYSTEM.
 */
int frame_channel_init(struct frame_channel *channel, int in, int out, size_t cap,
                       struct error *error);

void frame_channel_free(struct frame_channel *channel);

/*
 * Sends the parts as one frame; count is at most NETSTRING_PARTS_MAX. Waits for room in the
 * pipe for `patience` nanoseconds at most; what does not fit by then is kept, and goes with
 * frame_channel_flush(). That the worker has gone is no failure: who receives meets its end.
 * -1 with ERROR_SYSTEM.
 */
int frame_channel_send(struct frame_channel *channel, const struct iovec *parts, int count,
                       int64_t patience, struct error *error);

/* Writes what the pipe takes at once of what was kept. As frame_channel_send(). */
int frame_channel_flush(struct frame_channel *channel, struct error *error);

static inline bool frame_channel_is_sent(const struct frame_channel *channel)
{
    return channel->unsent.length == 0;
}

/*
 * Waits for the next frame for `patience` nanoseconds at most; what was kept is written
 * meanwhile. *payload is borrowed until the next call.
 */
enum frame_channel_result frame_channel_receive(struct frame_channel *channel, int64_t patience,
                                                struct iovec *payload, struct error *error);

/* Closes the pipe to the worker, which reads its end; what was kept is dropped. */
void frame_channel_hang_up(struct frame_channel *channel);

#endif
