/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PING_PING_PEER_H
#define GASPIPE_SUPERVISOR_PING_PING_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>
#include <uv.h>

#include "base/error.h"
#include "supervisor/ping/ping_samples.h"
#include "supervisor/process/launcher.h"

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
