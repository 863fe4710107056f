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

/* Netstring frames over two pipes to and from a worker, without an event loop. Each call waits for
 * the worker for a bounded time and then returns, so that the caller's loop can wait instead.
 * Independent of Node. */

enum { FRAME_CHANNEL_INPUT = 64 * 1024 };

enum frame_channel_result {
    FRAME_CHANNEL_FRAME, /* a complete frame */
    FRAME_CHANNEL_LATER, /* no frame in time */
    FRAME_CHANNEL_ENDED, /* the worker closed its end, between frames */
    FRAME_CHANNEL_BAD,   /* not a netstring, a read error, or out of memory: see the error;
                          * permanent */
};

struct frame_channel {
    int in, out; /* non-blocking; owned; -1: closed */
    struct netstring_decoder decoder;
    struct buf unsent; /* what the pipe has not accepted yet */
    bool is_hung_up;   /* the worker closed its end of the pipe: drop what is sent */
    size_t at, filled; /* of the input: bytes decoded, bytes read */
    int64_t moved;     /* nanoseconds of CLOCK_MONOTONIC: when the last byte of the last frame was
                        * read, or the last frame's write began */
    char input[FRAME_CHANNEL_INPUT];
};

/* Takes over the descriptors, also on failure. Frames from the worker of more than `cap` bytes are
 * errors. Returns -1 with ERROR_SYSTEM. */
int frame_channel_init(struct frame_channel *channel, int in, int out, size_t cap,
                       struct error *error);

void frame_channel_free(struct frame_channel *channel);

/* Sends the parts as one frame; count is at most NETSTRING_PARTS_MAX. Waits up to `sync_wait`
 * nanoseconds for space in the pipe. It keeps what does not fit by then for frame_channel_flush().
 * An exited worker is not an error here; receiving reports it. Returns -1 with ERROR_SYSTEM. */
int frame_channel_send(struct frame_channel *channel, const struct iovec *parts, int count,
                       int64_t sync_wait, struct error *error);

/* Writes as much of the kept data as the pipe accepts at once. Returns like
 * frame_channel_send(). */
int frame_channel_flush(struct frame_channel *channel, struct error *error);

static inline bool frame_channel_is_sent(const struct frame_channel *channel)
{
    return channel->unsent.length == 0;
}

/* Waits up to `sync_wait` nanoseconds for the next frame, and writes kept data meanwhile. *payload
 * is borrowed until the next call. */
enum frame_channel_result frame_channel_receive(struct frame_channel *channel, int64_t sync_wait,
                                                struct iovec *payload, struct error *error);

/* Closes the pipe from the worker, whose next write fails. Receive nothing after it. */
void frame_channel_stop_reading(struct frame_channel *channel);

/* Closes the pipe to the worker, which then reads end of file; drops kept data. */
void frame_channel_hang_up(struct frame_channel *channel);

#endif
