/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_SESSION_H
#define GASPIPE_SUPERVISOR_PROCESS_SESSION_H

#include <stdint.h>
#include <sys/uio.h>
#include <uv.h>

#include "base/error.h"
#include "supervisor/process/launcher.h"

/*
 * One worker, a frame down and a frame up at a time, for a program that has nothing else to do
 * while it waits: session_wait() runs the loop.
 */
struct session;

enum session_event {
    SESSION_FRAME,   /* a frame has come */
    SESSION_GONE,    /* the worker's process has ended */
    SESSION_BAD,     /* it sent something that is not a frame, or a frame out of turn */
    SESSION_TIMEOUT, /* nothing came in time */
};

/* The event that ended session_wait(). Borrowed until the next wait. */
struct session_news {
    enum session_event event;
    struct iovec frame;      /* of SESSION_FRAME; SCAN_PADDING bytes after it are readable */
    int exit_status;         /* of SESSION_GONE */
    int signal_number;       /* of SESSION_GONE; 0: it exited by itself */
    const char *stderr_text; /* the last line that the worker printed, or ""; of SESSION_BAD: why */
};

/* As launcher_start(). NULL with ERROR_SYSTEM. */
struct session *session_start(const struct launch_config *config, uv_loop_t *loop,
                              enum launcher_program program, const char *name, int snapshot_fd,
                              struct error *error);

/* As worker_process_send(). */
int session_send(struct session *session, const struct iovec *parts, int count,
                 struct error *error);

/* Waits at most `timeout_ms`, 0: for ever. -1 with ERROR_SYSTEM when memory ran out. */
int session_wait(struct session *session, uint64_t timeout_ms, struct session_news *news,
                 struct error *error);

/* As worker_process_begin_snapshot() and worker_process_end_snapshot(). */
int session_begin_snapshot(struct session *session, struct error *error);
int session_end_snapshot(struct session *session, struct error *error);

/* Ends the worker, waits until it is gone, and frees. NULL is allowed. */
void session_end(struct session *session);

#endif
