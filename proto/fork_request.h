/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_PROTO_FORK_REQUEST_H
#define GASPIPE_PROTO_FORK_REQUEST_H

#include <stdint.h>

/*
 * A request to a zygote, a started worker that forks others (worker/zygote.h): one datagram on a
 * socket, with these descriptors of the new worker (SCM_RIGHTS). The worker answers with one
 * datagram.
 */
enum fork_request_fd {
    FORK_REQUEST_DOWN,    /* its frames */
    FORK_REQUEST_UP,      /* its answers */
    FORK_REQUEST_PRINTED, /* stdout and stderr */
    FORK_REQUEST_SAVE,    /* its snapshots */
    FORK_REQUEST_FDS,
};

struct fork_request {
    int32_t parent; /* the supervisor's process, whose child it becomes */
    char name[64];  /* what ps(1) shows; ends with '\0' */
};

struct fork_answer {
    int32_t pid; /* leader of its own process group; 0 if none could be created */
};

#endif
