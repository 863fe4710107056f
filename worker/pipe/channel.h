/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_PIPE_CHANNEL_H
#define GASPIPE_WORKER_PIPE_CHANNEL_H

#include <stddef.h>
#include <sys/uio.h>

#include "base/error.h"
#include "proto/netstring.h"

/* The worker's end of the pipe: blocking, one frame at a time. */
struct channel {
    int in;
    int out;
    struct netstring_decoder decoder;
    char *input; /* what was read and not decoded yet: input[start..end) */
    size_t start;
    size_t end;
};

enum channel_result {
    CHANNEL_FRAME,
    CHANNEL_END, /* end of file between frames */
    CHANNEL_CUT, /* end of file inside a frame */
    CHANNEL_BAD, /* what came is no frame, or one over the cap */
    CHANNEL_IO,  /* the read failed */
};

/* The descriptors stay the caller's. 0, or -1 with ERROR_SYSTEM. */
int channel_open(struct channel *channel, int in, int out, size_t cap, struct error *error);
void channel_close(struct channel *channel);

/*
 * Waits for the next frame. *payload is borrowed and good until the next call.
 * The error is filled for the last three results.
 */
enum channel_result channel_receive(struct channel *channel, struct iovec *payload,
                                    struct error *error);

/*
 * Writes one frame whose payload is the parts, of which there are at most
 * NETSTRING_PARTS_MAX. 0, or -1 with ERROR_SYSTEM.
 */
int channel_send(struct channel *channel, const struct iovec *parts, int count,
                 struct error *error);

#endif
