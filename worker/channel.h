/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_CHANNEL_H
#define GASPIPE_WORKER_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/stamp.h"
#include "proto/meter.h"
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

/* The stamps of one delivery's frames: the first STAMPS_MAX, which are of 32,767 requests. */
enum { STAMPS_MAX = 1 << 16 };
struct stamps {
    struct stamp *items;
    size_t count;
    size_t capacity;
    size_t left_out; /* after these */
    struct stamp last;
};

/*
 * Adds the present moment; `real` counts from the list's first. 0, or -1 when memory ran
 * out.
 */
int stamps_take(struct stamps *stamps);

/* Returns the latest stamp, if one was taken since the list was emptied. */
static inline struct stamp stamps_last(const struct stamps *stamps)
{
    return stamps->last;
}

/* Removes the latest stamp; stamps_last() is undefined until the next one. */
static inline void stamps_drop_last(struct stamps *stamps)
{
    if (stamps->left_out > 0)
        stamps->left_out--;
    else
        stamps->count--;
}

/* Empties the list and keeps its memory, so that taking a stamp costs one clock reading. */
void stamps_clear(struct stamps *stamps);

void stamps_free(struct stamps *stamps);

/* CPU use of the calling thread between two meter records that have it. */
struct cpu_usage {
    struct rusage before; /* when the system was asked last */
    int64_t asked;        /* when that was: nanoseconds of CLOCK_MONOTONIC */
};

/* Nanoseconds. Asking the system takes a twentieth of the shortest delivery. */
#define CPU_USAGE_INTERVAL INT64_C(100000)

/* Starts the next measurement here, since earlier work belongs to no delivery. */
void cpu_usage_rebase(struct cpu_usage *usage, int64_t now);

/*
 * Adds the use since the last call, or since cpu_usage_rebase(), to the meter. One
 * getrusage() per delivery covers the delivery and the wait before it. Does nothing within
 * CPU_USAGE_INTERVAL of the last call; that use is in the next record then.
 */
void cpu_usage_take(struct cpu_usage *usage, int64_t now, struct meter *meter);

#endif
