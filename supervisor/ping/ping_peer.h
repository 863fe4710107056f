/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PING_PING_PEER_H
#define GASPIPE_SUPERVISOR_PING_PING_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <uv.h>

#include "base/error.h"
#include "supervisor/process/launcher.h"

/* Many measurements of one thing, in nanoseconds. */
struct ping_samples {
    int64_t *items; /* owned */
    size_t count;
    size_t capacity;
};

/* All zeros is an empty list. 0, or -1 with ERROR_SYSTEM without memory. */
int ping_samples_reserve(struct ping_samples *samples, size_t capacity, struct error *error);
void ping_samples_free(struct ping_samples *samples);

/* Within what was reserved. */
static inline void ping_samples_add(struct ping_samples *samples, int64_t nanoseconds)
{
    samples->items[samples->count++] = nanoseconds;
}

/* Puts them in order, which what follows wants. */
void ping_samples_sort(struct ping_samples *samples);

/*
 * The smallest that `share` (0 to 1) of all do not exceed (nearest rank); of at
 * least one, sorted.
 */
int64_t ping_samples_percentile(const struct ping_samples *samples, double share);

int64_t ping_samples_mean(const struct ping_samples *samples);

/*
 * The next bar of a histogram whose edges stand in the ratio of the square root
 * of 2, from the sample *next on. Moves *next behind the samples that fall into
 * it. False when there are no more. The lowest bar, 0 to 1, has also what
 * clocks of microseconds make negative.
 */
struct ping_bar {
    int64_t from, to; /* nanoseconds; from <= sample < to */
    size_t count;
};
bool ping_samples_bar(const struct ping_samples *samples, size_t *next, struct ping_bar *bar);

/* Where the time of round trips went; sample i of each is of the same trip. */
struct ping_trips {
    struct ping_samples
        total;                /* from before the delivery is sent to its meter's having been read */
    struct ping_samples down; /* until the worker has it */
    struct ping_samples worker; /* until the worker is about to answer */
    struct ping_samples up;     /* until the answer is here */
    struct ping_samples record; /* reading the meter record in it */
};

/*
 * A worker that answers each delivery with what it was sent, by the way that a
 * delivery of `gaspipe run` takes. Its error stays here until asked for.
 */
struct ping_peer {
    uv_loop_t *loop;
    struct worker_process *process;
    struct iovec message;
    size_t left;              /* round trips to go */
    struct ping_trips *trips; /* NULL: not measured */
    struct stamp sent;
    size_t to, fro; /* bytes of the last frame in each direction, framing too */
    bool gone;
    struct error error;    /* kind ERROR_NONE: none */
    char stderr_text[256]; /* that the worker printed last */
};

/* 0, or -1 with ERROR_SYSTEM; then too the peer is to be stopped. */
int ping_peer_start(struct ping_peer *peer, uv_loop_t *loop, const struct launch_config *launcher,
                    struct error *error);

/* So many round trips, one after the other; trips has room for them, or is NULL. */
int ping_peer_run(struct ping_peer *peer, struct iovec message, size_t count,
                  struct ping_trips *trips, struct error *error);

/* Ends the worker and waits until it is gone. */
void ping_peer_stop(struct ping_peer *peer);

#endif
