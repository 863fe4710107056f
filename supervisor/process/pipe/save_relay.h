/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_PIPE_SAVE_RELAY_H
#define GASPIPE_SUPERVISOR_PROCESS_PIPE_SAVE_RELAY_H

#include <sched.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/process/pipe/save_head.h"

/*
 * A thread that takes a snapshot out of the pipe that a worker writes it to, puts it into a file in
 * memory, and passes it on to the worker that is to start from it while the first still writes.
 * What is in the file is what was passed on, and no worker can reach it. It may be started before
 * the snapshot is due, and has the memory for it then.
 */
struct save_relay;

struct save_relay_options {
    int from;    /* the pipe; borrowed until the end; becomes non-blocking */
    int pass_on; /* a pipe, owned also where the start fails; -1: to nobody */
    /* What it was passed on already. When the snapshot begins otherwise, nothing is passed on. */
    struct save_head head;
    uint64_t expected;           /* bytes that the snapshot may have; 0: not known */
    uint64_t cap;                /* bytes; what is longer is not kept */
    const cpu_set_t *processors; /* for the thread; NULL: those of the caller */
};

/* NULL with ERROR_SYSTEM. */
struct save_relay *save_relay_start(const struct save_relay_options *options, struct error *error);

/*
 * Call it once, before the worker is asked for the snapshot: what the pipe has from before is
 * dropped, and what comes is kept and passed on. -1 with ERROR_SYSTEM.
 */
int save_relay_begin(struct save_relay *relay, struct error *error);

/*
 * Call it when the worker has written all, or will not any more; also where it has not begun. Waits
 * until what is in the pipe is in the file too, which the caller owns; passing on goes on by
 * itself. Or -1, with ERROR_INPUT when it was longer than the cap. Frees the relay.
 */
int save_relay_end(struct save_relay *relay, struct error *error);

#endif
