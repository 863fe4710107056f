/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_WORKER_FRAMES_H
#define GASPIPE_SUPERVISOR_PROCESS_WORKER_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>
#include <uv.h>

#include "base/error.h"
#include "base/stamp.h"
#include "proto/netstring.h"

/* Netstring frames through a worker's two pipes, on a loop. Knows nothing of its process. */

enum { WORKER_INPUT_SIZE = 64 * 1024 };

struct worker_frames;

/* Its events, from within the loop. */
struct worker_frames_listener {
    void *context;
    /* A frame, borrowed for the call, and when its last byte had come. */
    void (*frame)(void *context, struct iovec frame, struct stamp come);
    /* The worker sent something that is not a frame; only the end follows. */
    void (*bad_frame)(void *context, const struct error *error);
    /* The pipe up is read to its end: the last call. */
    void (*ended)(struct worker_frames *frames);
};

/*
 * The owner closes the three handles; up_fd is worker_frames_free()'s. Each handle's `data` is
 * the owner's, set where a handle is initialised.
 */
struct worker_frames {
    uv_pipe_t down;
    uv_poll_t up;
    uv_prepare_t before_poll;
    /* The rest is worker_frames.c's. */
    struct worker_frames_listener listener;
    int up_fd; /* in blocking mode; read when the loop finds it readable, or directly */
    struct netstring_decoder decoder;
    bool up_ended, down_closed, stopped;
    bool awaited;      /* a frame was sent, and none has come since */
    struct stamp sent; /* the last one: its moment */
    bool slow;         /* it did not answer during the last direct read */
    bool needs_loop;   /* as worker_frames_use_loop() has it */
    bool down_large, up_large;
    bool garbled; /* a frame was bad: what follows is not read as frames */
    char input[WORKER_INPUT_SIZE];
};

/* `frame_cap` in bytes: a longer frame up is bad. */
void worker_frames_init(struct worker_frames *frames, size_t frame_cap,
                        const struct worker_frames_listener *listener);

/*
 * Makes the handles for frames up, and counts them in *opened. The descriptor is taken over, also
 * on failure, unless up_fd is still -1 then. 0 or libuv's error.
 */
int worker_frames_open_up(struct worker_frames *frames, uv_loop_t *loop, int fd, void *data,
                          int *opened);

/* Starts reading frames. 0 or libuv's error. */
int worker_frames_start(struct worker_frames *frames);

/* As worker_process_send(). */
int worker_frames_send(struct worker_frames *frames, const struct iovec *parts, int count,
                       struct stamp *sent, struct error *error);

/* As worker_process_await(). */
void worker_frames_await(struct worker_frames *frames);

/*
 * Reads once from the pipe up, and waits for that, without the loop; calls frame() for what came.
 * Returns false at once if the loop has to run before anything can come, or before the next call.
 */
bool worker_frames_read(struct worker_frames *frames);

/* Does not read directly until the next frame begins: the loop has other events to wait for. */
void worker_frames_use_loop(struct worker_frames *frames);

/* Nothing more is sent; the owner closes `down`. */
void worker_frames_hang_up(struct worker_frames *frames);

/*
 * The worker's process has ended: reports the frames that are still in the pipe, and the end. Other
 * processes that have the pipe open, such as a child of the worker, do not delay the end.
 */
void worker_frames_finish(struct worker_frames *frames);

/* The worker's frames are no longer awaited. */
void worker_frames_stop(struct worker_frames *frames);

/* When the handles are closed. */
void worker_frames_free(struct worker_frames *frames);

#endif
