/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_CHILD_PROCESS_H
#define GASPIPE_SUPERVISOR_CHILD_PROCESS_H

#include <sys/types.h>
#include <uv.h>

#include "base/error.h"

/*
 * A process that this one starts, and whose end a loop tells. It gets a process group of its
 * own and stays in our session, which uv_spawn() has no way to say: Linux shares a processor
 * out among sessions first (sched(7), "The autogroup feature"), and a switch from one to
 * another takes longer than one within a session (docs/benchmarks.md).
 */
struct child_process {
    uv_poll_t end; /* `data` is the owner's, who closes it once it was started */
    pid_t pid;
    int pidfd;
    void (*ended)(struct child_process *child, int exit_status, int signal_number);
};

/* How to start it. Everything is borrowed for the call. */
struct child_launch {
    const char *path;
    char *const *arguments;   /* argv; ends with NULL */
    char *const *environment; /* ends with NULL */
    const int *fds;           /* what becomes its descriptors 0, 1, ...; -1: none */
    int fd_count;
};

/*
 * Starts it in the folder "/", with no signal blocked or ignored. ended() is called from within
 * the loop when it is reaped; signal_number is 0 when it exited by itself. 0, or -1 with
 * ERROR_SYSTEM, and then there is nothing to close or to reap.
 */
int child_process_start(struct child_process *child, uv_loop_t *loop,
                        const struct child_launch *launch,
                        void (*ended)(struct child_process *child, int exit_status,
                                      int signal_number),
                        struct error *error);

/* After `end` was closed. */
void child_process_free(struct child_process *child);

#endif
