/* SPDX-License-Identifier: Apache-2.0 */
#include "node/addon/frame_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum {
    PIPE_SIZE = 64 * 1024,     /* pipe(2)'s default */
    LARGE_PIPE_SIZE = 1 << 20, /* the most without privilege (pipe(7), pipe-max-size) */
    SECOND = 1000000000,       /* nanoseconds */
};

static int64_t channel_clock(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time); /* cannot fail with this clock */
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

/* Lets the two ends switch less often for a large frame. If it is not allowed, the frame takes
 * longer. */
static void enlarge_pipe(int fd, size_t frame)
{
    if (frame > PIPE_SIZE)
        (void)fcntl(fd, F_SETPIPE_SZ, LARGE_PIPE_SIZE);
}

static int unblock(int fd, struct error *error)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return error_system(error, errno, "cannot use descriptor %d", fd);
    return 0;
}

int frame_channel_init(struct frame_channel *channel, int in, int out, size_t cap,
                       struct error *error)
{
    channel->in = in;
    channel->out = out;
    channel->unsent = (struct buf){0};
    channel->is_hung_up = false;
    channel->at = channel->filled = 0;
    channel->moved = 0;
    netstring_decoder_init(&channel->decoder, cap);
    if (unblock(in, error) != 0 || unblock(out, error) != 0) {
        frame_channel_free(channel);
        return -1;
    }
    return 0;
}

void frame_channel_hang_up(struct frame_channel *channel)
{
    channel->is_hung_up = true;
    buf_clear(&channel->unsent);
    if (channel->out >= 0)
        (void)close(channel->out);
    channel->out = -1;
}

void frame_channel_stop_reading(struct frame_channel *channel)
{
    if (channel->in >= 0)
        (void)close(channel->in);
    channel->in = -1;
}

void frame_channel_free(struct frame_channel *channel)
{
    frame_channel_hang_up(channel);
    buf_free(&channel->unsent);
    netstring_decoder_free(&channel->decoder);
    frame_channel_stop_reading(channel);
}

/* Waits until input arrives, or the pipe has space for unsent data. Returns false after the
 * deadline. A failure counts as an event: the next read or write reports it too. */
static bool wait_until(const struct frame_channel *channel, int64_t deadline, bool readable)
{
    struct pollfd pipes[] = {
        {.fd = readable ? channel->in : -1, .events = POLLIN},
        {.fd = frame_channel_is_sent(channel) ? -1 : channel->out, .events = POLLOUT},
    };
    int64_t left = deadline - channel_clock();
    struct timespec time = {.tv_sec = left / SECOND, .tv_nsec = left % SECOND};

    return left > 0 && ppoll(pipes, 2, &time, NULL) != 0;
}

/* ---- frames to the worker ---- */

/* If the worker exited, receiving reports it, after the frames that it still sent. */
static int write_failed(struct frame_channel *channel, struct error *error)
{
    int errnum = errno;

    channel->is_hung_up = true;
    buf_clear(&channel->unsent);
    return errnum == EPIPE ? 0 : error_system(error, errnum, "cannot write to the worker");
}

int frame_channel_flush(struct frame_channel *channel, struct error *error)
{
    while (!frame_channel_is_sent(channel)) {
        ssize_t written = write(channel->out, channel->unsent.data, channel->unsent.length);

        if (written < 0 && errno == EAGAIN)
            return 0;
        if (written < 0 && errno != EINTR)
            return write_failed(channel, error);
        if (written > 0)
            buf_consume(&channel->unsent, (size_t)written);
    }
    return 0;
}

/* Keeps what follows the first `written` bytes. */
static int keep_rest(struct frame_channel *channel, const struct netstring_frame *frame,
                     size_t written, struct error *error)
{
    for (int i = 0; i < frame->count; i++) {
        size_t skipped = written < frame->pieces[i].iov_len ? written : frame->pieces[i].iov_len;

        written -= skipped;
        (void)buf_append(&channel->unsent, (const char *)frame->pieces[i].iov_base + skipped,
                         frame->pieces[i].iov_len - skipped);
    }
    return buf_failed(&channel->unsent) ? error_memory(error, "a frame to the worker") : 0;
}

/* Writes what the pipe accepts at once and keeps the rest. */
static int write_frame(struct frame_channel *channel, const struct netstring_frame *frame,
                       struct error *error)
{
    ssize_t written = 0;

    if (frame_channel_is_sent(channel)) {
        do
            written = writev(channel->out, frame->pieces, frame->count);
        while (written < 0 && errno == EINTR);
        if (written < 0 && errno != EAGAIN)
            return write_failed(channel, error);
        if (written < 0)
            written = 0;
    }
    if ((size_t)written == frame->size)
        return 0;
    return keep_rest(channel, frame, (size_t)written, error);
}

int frame_channel_send(struct frame_channel *channel, const struct iovec *parts, int count,
                       int64_t sync_wait, struct error *error)
{
    struct netstring_frame frame;

    channel->moved = channel_clock();
    if (channel->is_hung_up)
        return 0;
    netstring_encode(&frame, parts, count);
    enlarge_pipe(channel->out, frame.size);
    if (write_frame(channel, &frame, error) != 0)
        return -1;
    while (!frame_channel_is_sent(channel) &&
           wait_until(channel, channel->moved + sync_wait, false))
        if (frame_channel_flush(channel, error) != 0)
            return -1;
    return 0;
}

/* ---- frames from the worker ---- */

/* Decodes the next frame of the input that was read. */
static enum frame_channel_result take_input(struct frame_channel *channel, struct iovec *payload,
                                            struct error *error)
{
    size_t used;

    switch (netstring_decode(&channel->decoder, channel->input + channel->at,
                             channel->filled - channel->at, &used, payload, error)) {
    case NETSTRING_FRAME:
        channel->at += used;
        return FRAME_CHANNEL_FRAME;
    case NETSTRING_BAD:
        return FRAME_CHANNEL_BAD;
    case NETSTRING_MORE:
        break;
    }
    enlarge_pipe(channel->in, channel->decoder.length);
    channel->at = channel->filled = 0;
    return FRAME_CHANNEL_LATER;
}

static enum frame_channel_result decode_read(struct frame_channel *channel, bool straight,
                                             size_t length, struct iovec *payload,
                                             struct error *error)
{
    channel->moved = channel_clock();
    if (!straight) {
        channel->at = 0;
        channel->filled = length;
        return take_input(channel, payload, error);
    }
    switch (netstring_take_rest(&channel->decoder, length, payload, error)) {
    case NETSTRING_FRAME:
        return FRAME_CHANNEL_FRAME;
    case NETSTRING_BAD:
        return FRAME_CHANNEL_BAD;
    case NETSTRING_MORE:
        break;
    }
    return FRAME_CHANNEL_LATER;
}

/* Reads once; FRAME_CHANNEL_LATER if no frame is complete then. *came: something was read. */
static enum frame_channel_result read_once(struct frame_channel *channel, bool *came,
                                           struct iovec *payload, struct error *error)
{
    struct iovec place = {.iov_base = channel->input, .iov_len = sizeof channel->input};
    bool straight = netstring_rest(&channel->decoder, &place);
    ssize_t length = read(channel->in, place.iov_base, place.iov_len);

    *came = length > 0 || (length < 0 && errno == EINTR);
    if (length > 0)
        return decode_read(channel, straight, (size_t)length, payload, error);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return FRAME_CHANNEL_LATER;
    if (length < 0) {
        (void)error_system(error, errno, "cannot read from the worker");
        return FRAME_CHANNEL_BAD;
    }
    if (netstring_between_frames(&channel->decoder))
        return FRAME_CHANNEL_ENDED;
    (void)error_set(error, ERROR_INPUT, "the worker ended inside a frame");
    return FRAME_CHANNEL_BAD;
}

enum frame_channel_result frame_channel_receive(struct frame_channel *channel, int64_t sync_wait,
                                                struct iovec *payload, struct error *error)
{
    int64_t deadline = channel_clock() + sync_wait;
    enum frame_channel_result result = FRAME_CHANNEL_LATER;

    if (channel->at < channel->filled)
        result = take_input(channel, payload, error);
    while (result == FRAME_CHANNEL_LATER) {
        bool came = false;

        if (!frame_channel_is_sent(channel) && frame_channel_flush(channel, error) != 0)
            return FRAME_CHANNEL_BAD;
        result = read_once(channel, &came, payload, error);
        if (result == FRAME_CHANNEL_LATER && !came && !wait_until(channel, deadline, true))
            return FRAME_CHANNEL_LATER;
    }
    return result;
}
