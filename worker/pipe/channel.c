/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pipe/channel.h"

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

/* CHANNEL_FRAME here means that there are bytes, *got of them. */
static enum channel_result fill_channel(struct channel *channel, struct iovec place, size_t *got,
                                        struct error *error)
{
    ssize_t length;

    do
        length = read(channel->in, place.iov_base, place.iov_len);
    while (length < 0 && errno == EINTR);
    if (length < 0) {
        error_system(error, errno, "cannot read from the supervisor (descriptor %d)", channel->in);
        return CHANNEL_IO;
    }
    *got = (size_t)length;
    if (length > 0)
        return CHANNEL_FRAME;
    if (netstring_between_frames(&channel->decoder))
        return CHANNEL_END;
    error_set(error, ERROR_INPUT, "end of file inside a frame");
    return CHANNEL_CUT;
}

/* Reads once, and decodes as far as the frame's end. */
static enum channel_result read_some(struct channel *channel, enum netstring_result *decoded,
                                     struct iovec *payload, struct error *error)
{
    struct iovec place = {.iov_base = channel->input, .iov_len = INPUT_SIZE};
    bool straight = netstring_rest(&channel->decoder, &place);
    enum channel_result filled;
    size_t got;

    filled = fill_channel(channel, place, &got, error);
    if (filled != CHANNEL_FRAME)
        return filled;
    if (straight) {
        *decoded = netstring_take_rest(&channel->decoder, got, payload, error);
    } else {
        channel->end = got;
        *decoded = netstring_decode(&channel->decoder, channel->input, got, &channel->start,
                                    payload, error);
    }
    return CHANNEL_FRAME;
}

enum channel_result channel_receive(struct channel *channel, struct iovec *payload,
                                    struct error *error)
{
    enum netstring_result decoded = NETSTRING_MORE;
    size_t used;

    if (channel->start < channel->end) {
        decoded = netstring_decode(&channel->decoder, channel->input + channel->start,
                                   channel->end - channel->start, &used, payload, error);
        channel->start += used;
    }
    while (decoded == NETSTRING_MORE) {
        enum channel_result filled = read_some(channel, &decoded, payload, error);

        if (filled != CHANNEL_FRAME)
            return filled;
    }
    return decoded == NETSTRING_FRAME ? CHANNEL_FRAME : CHANNEL_BAD;
}

int channel_send(struct channel *channel, const struct iovec *parts, int count, struct error *error)
{
    struct netstring_frame frame;

    netstring_encode(&frame, parts, count);
    /* Not vmsplice(2): its pages must not change until they are read, and nothing reports that. */
    if (io_writev_all(channel->out, frame.pieces, frame.count) != 0)
        return error_system(error, errno, "cannot write to the supervisor (descriptor %d)",
                            channel->out);
    return 0;
}
