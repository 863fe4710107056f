/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "worker/channel.h"

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

/* CHANNEL_FRAME means that *got bytes were read. */
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

enum { STAMPS_FIRST_CAPACITY = 512 };

static int stamps_grow(struct stamps *stamps)
{
    size_t capacity = stamps->capacity ? stamps->capacity * 2 : STAMPS_FIRST_CAPACITY;
    struct stamp *items = reallocarray(stamps->items, capacity, sizeof *items);

    if (items == NULL)
        return -1;
    stamps->items = items;
    stamps->capacity = capacity;
    return 0;
}

static int stamps_add(struct stamps *stamps, struct stamp now)
{
    stamps->last = now;
    if (stamps->count == STAMPS_MAX) {
        stamps->left_out++;
        return 0;
    }
    if (stamps->count == stamps->capacity && stamps_grow(stamps) != 0)
        return -1;
    stamps->items[stamps->count++] = now;
    return 0;
}

int stamps_take(struct stamps *stamps)
{
    /* The clocks come first: growing the list must not show in the times. */
    return stamps_add(stamps, stamps->count == 0 ? stamp_now() : stamp_after(stamps->items[0]));
}

void stamps_clear(struct stamps *stamps)
{
    stamps->count = stamps->left_out = 0;
}

void stamps_free(struct stamps *stamps)
{
    free(stamps->items);
    *stamps = (struct stamps){0};
}

void cpu_usage_rebase(struct cpu_usage *usage, int64_t now)
{
    usage->asked = now;
    /* The engine has one thread, and RUSAGE_THREAD costs half of RUSAGE_SELF. It cannot fail. */
    (void)getrusage(RUSAGE_THREAD, &usage->before);
}

static int64_t microseconds_between(struct timeval from, struct timeval to)
{
    return (int64_t)(to.tv_sec - from.tv_sec) * 1000000 + (to.tv_usec - from.tv_usec);
}

static struct meter_cpu cpu_between(const struct rusage *before, const struct rusage *now)
{
    return (struct meter_cpu){
        .user = microseconds_between(before->ru_utime, now->ru_utime),
        .system = microseconds_between(before->ru_stime, now->ru_stime),
        .waits = now->ru_nvcsw - before->ru_nvcsw,
        .preempt = now->ru_nivcsw - before->ru_nivcsw,
        .faults = now->ru_majflt - before->ru_majflt,
    };
}

void cpu_usage_take(struct cpu_usage *usage, int64_t now, struct meter *meter)
{
    const struct rusage before = usage->before;

    if (now - usage->asked < CPU_USAGE_INTERVAL)
        return;
    cpu_usage_rebase(usage, now);
    meter->cpu = cpu_between(&before, &usage->before);
    meter->cpu_known = true;
}
