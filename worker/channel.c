/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"

/* A pipe of default size holds this much. */
enum { INPUT_SIZE = 64 * 1024 };

int channel_open(struct channel *channel, int in, int out, size_t cap, struct error *error)
{
    *channel = (struct channel){.in = in, .out = out};
    netstring_decoder_init(&channel->decoder, cap);
    channel->input = malloc(INPUT_SIZE);
    if (channel->input == NULL)
        return error_memory(error, "the pipe's input");
    return 0;
}

void channel_close(struct channel *channel)
{
    netstring_decoder_free(&channel->decoder);
    free(channel->input);
    channel->input = NULL;
}

/* CHANNEL_FRAME here means that there are bytes. */
static enum channel_result fill(struct channel *channel, struct error *error)
{
    ssize_t got;

    do
        got = read(channel->in, channel->input, INPUT_SIZE);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        error_system(error, errno, "cannot read from the supervisor (descriptor %d)", channel->in);
        return CHANNEL_IO;
    }
    channel->start = 0;
    channel->end = (size_t)got;
    if (got > 0)
        return CHANNEL_FRAME;
    if (netstring_between_frames(&channel->decoder))
        return CHANNEL_END;
    error_set(error, ERROR_INPUT, "end of file inside a frame");
    return CHANNEL_CUT;
}

enum channel_result channel_receive(struct channel *channel, struct iovec *payload,
                                    struct error *error)
{
    for (;;) {
        enum netstring_result decoded;
        enum channel_result filled;
        size_t used;

        decoded = netstring_decode(&channel->decoder, channel->input + channel->start,
                                   channel->end - channel->start, &used, payload, error);
        channel->start += used;
        if (decoded == NETSTRING_FRAME)
            return CHANNEL_FRAME;
        if (decoded == NETSTRING_BAD)
            return CHANNEL_BAD;
        filled = fill(channel, error);
        if (filled != CHANNEL_FRAME)
            return filled;
    }
}

int channel_send(struct channel *channel, const struct iovec *parts, int count, struct error *error)
{
    struct netstring_frame frame;

    netstring_encode(&frame, parts, count);
    if (io_writev_all(channel->out, frame.pieces, frame.count) != 0)
        return error_system(error, errno, "cannot write to the supervisor (descriptor %d)",
                            channel->out);
    return 0;
}
