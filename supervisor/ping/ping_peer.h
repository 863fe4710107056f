/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PING_PING_PEER_H
#define GASPIPE_SUPERVISOR_PING_PING_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <uv.h>

#include "base/cpu_wait.h"
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

/* Sorts them, as the next functions need. */
void ping_samples_sort(struct ping_samples *samples);

/*
 * The smallest sample that `share` (0 to 1) of all do not exceed (nearest rank). At least one
 * sample, sorted.
 */
int64_t ping_samples_percentile(const struct ping_samples *samples, double share);

int64_t ping_samples_mean(const struct ping_samples *samples);

/*
 * The next bar of a histogram, from the sample *next on; each edge is the one before times the
 * square root of 2. Moves *next past the bar's samples. False after the last bar. The lowest bar, 0
 * to 1, includes negative times, from clocks with microseconds.
 */
struct ping_bar {
    int64_t from, to; /* nanoseconds; from <= sample < to */
    size_t count;
};
bool ping_samples_bar(const struct ping_samples *samples, size_t *next, struct ping_bar *bar);

/* The parts of each round trip's time; sample i of each is of the same trip. */
struct ping_trips {
    struct ping_samples
        total;                /* from before the delivery is sent to its meter's having been read */
    struct ping_samples down; /* until the worker has it */
    struct ping_samples worker; /* until the worker is about to answer */
    struct ping_samples up;     /* until the answer is here */
    struct ping_samples record; /* reading the meter record in it */
    /* Round trips of a millisecond and more: how many, and nanoseconds of them in which gaspipe and
     * the worker waited for a CPU. */
    size_t slow;
    int64_t slow_time, cpu_wait, worker_cpu_wait;
};

/*
 * A worker that answers each delivery with its own bytes, through the same code as a delivery of
 * `gaspipe run`. Keeps the first error for ping_peer_run().
 */
struct ping_peer {
    uv_loop_t *loop;
    struct worker_process *process;
    struct iovec message;
    size_t left;              /* round trips to go */
    struct ping_trips *trips; /* NULL: not measured */
    struct stamp sent;
    struct cpu_wait cpu_wait;    /* of gaspipe */
    struct cpu_waits cpu_before; /* both ends' before the round trip */
    size_t to, fro;              /* bytes of the last frame in each direction, framing too */
    bool gone;
    struct error error;    /* kind ERROR_NONE: none */
    char stderr_text[256]; /* that the worker printed last */
};

/* 0, or -1 with ERROR_SYSTEM; then too the peer is to be stopped. */
int ping_peer_start(struct ping_peer *peer, uv_loop_t *loop, const struct launch_config *launcher,
                    struct error *error);

/* Makes `count` round trips, one after the other; `trips` has space for them, or is NULL. */
int ping_peer_run(struct ping_peer *peer, struct iovec message, size_t count,
                  struct ping_trips *trips, struct error *error);

/* Ends the worker and waits until it is gone. */
void ping_peer_stop(struct ping_peer *peer);

#endif
