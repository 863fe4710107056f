/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_WORKER_PROCESS_PARTS_H
#define GASPIPE_SUPERVISOR_WORKER_PROCESS_PARTS_H

#include <stdbool.h>

#include "proto/netstring.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/worker_process.h"

/* What worker_process.c (its life, its words) and worker_frames.c (its frames) share. */

enum {
    WORKER_INPUT_SIZE = 64 * 1024,
    WORKER_WORDS_SIZE = 1024,
};

struct worker_process {
    struct worker_process *next, **link; /* among those that run */
    struct worker_listener listener;
    struct child_process child;
    uv_pipe_t down, words;
    uv_poll_t up;
    uv_prepare_t before_poll;
    int save_fd; /* behind WORKER_SAVE_PLACE */
    int up_fd;   /* in blocking mode; read when there is something, or directly */
    struct netstring_decoder decoder;
    int handles_open;
    bool reaped, up_ended, words_ended, down_closed, freed;
    bool awaited;      /* a frame was sent, and none has come since */
    struct stamp sent; /* the last one: its moment */
    bool by_turns;
    bool slow; /* it did not answer while it was waited for directly */
    bool down_large, up_large;
    bool garbled; /* a frame was bad: what follows is no frame */
    int exit_status, signal_number;
    char line[WORKER_WORDS_SIZE]; /* what was printed of a line that has not ended */
    size_t line_length;
    char input[WORKER_INPUT_SIZE];
};

/* ---- worker_process.c ---- */

/* Tells the owner when nothing more can come. */
void worker_process_tell_when_gone(struct worker_process *process);

/* ---- worker_frames.c ---- */

/* Makes the handles for frames up; the descriptor is the process's from then on, also when
 * it fails. 0 or libuv's error. */
int worker_frames_open_up(struct worker_process *process, uv_loop_t *loop, int fd);

/* Frames are told from now on. 0 or libuv's error. */
int worker_frames_start(struct worker_process *process);

/* Its process has ended: tells the frames that are there still, and the end. Others that
 * have the pipe open, such as a child of it, do not keep it from ending. */
void worker_frames_finish(struct worker_process *process);

/* Nobody waits for its frames any more. */
void worker_frames_forget(struct worker_process *process);

#endif
