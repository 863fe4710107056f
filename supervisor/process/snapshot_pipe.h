/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_SNAPSHOT_PIPE_H
#define GASPIPE_SUPERVISOR_PROCESS_SNAPSHOT_PIPE_H

#include <stdint.h>
#include <uv.h>

#include "base/error.h"

/*
 * Copies the snapshot that a worker writes to a pipe into a file in memory, on the loop. No worker
 * can reach that file, so what is checked is what is kept.
 */
struct snapshot_pipe {
    uv_poll_t poll; /* initialised by the first snapshot_pipe_begin(); the owner closes it */
    int fd;         /* of the pipe, owned; -1: none */
    int file;       /* in progress, owned; -1: none */
    uint64_t size;  /* bytes in the file */
    uint64_t cap;   /* bytes that it may have */
    int problem;    /* an errno: the file is not whole */
};

/* Takes over the pipe; it becomes non-blocking. */
void snapshot_pipe_init(struct snapshot_pipe *pipe, int fd, uint64_t cap);

/*
 * Call it before the worker is asked for a snapshot: drops what the pipe has from before. The first
 * call initialises `poll` with this `data`, and counts it in *opened. -1 with ERROR_SYSTEM.
 */
int snapshot_pipe_begin(struct snapshot_pipe *pipe, uv_loop_t *loop, void *data, int *opened,
                        struct error *error);

/*
 * Call it when the worker has written the snapshot. Returns the file, the caller's, at its
 * beginning; or -1 with ERROR_SYSTEM, or with ERROR_INPUT if the snapshot exceeds the cap.
 */
int snapshot_pipe_end(struct snapshot_pipe *pipe, struct error *error);

/* When `poll` is closed. */
void snapshot_pipe_free(struct snapshot_pipe *pipe);

#endif
