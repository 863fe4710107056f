/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_CHILD_PROCESS_H
#define GASPIPE_SUPERVISOR_PROCESS_CHILD_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "base/error.h"

/*
 * Starts all of gaspipe's processes. They stay in gaspipe's session, which uv_spawn() cannot do:
 * Linux divides a CPU among sessions first (sched(7), "The autogroup feature"), and a switch
 * between sessions takes longer than one within a session (docs/benchmarks.md).
 */

/* A process whose end the loop reports. */
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
    /* Become its descriptors 0, 1, ...; it has no others. -1: closed, or /dev/null for 0 to 2. */
    const int *fds;
    int fd_count;
    const char *directory; /* that it runs in; NULL: the present one */
    bool fixed_layout;  /* its memory lies at the same addresses each time, if Linux allows that */
    bool in_same_group; /* in gaspipe's process group, which an interrupt at the terminal reaches */
    /* The control group that it starts in, if Linux can do that; else in gaspipe's. NULL or "":
     * none. */
    const char *control_group;
};

/*
 * Starts a process with no signal blocked or ignored; the caller reaps it. 0, or -1 with
 * ERROR_SYSTEM when it could not be started, or not in that directory.
 */
int child_process_spawn(const struct child_launch *launch, pid_t *pid, struct error *error);

/* Waits until that process has ended, and reaps it. *status as waitpid(2) has it. */
int child_process_reap(pid_t pid, int *status, struct error *error);

/*
 * As child_process_spawn(); ended() is called from within the loop when it is reaped;
 * signal_number is 0 when it exited by itself. On failure there is nothing to close or to reap.
 */
int child_process_start(struct child_process *child, uv_loop_t *loop,
                        const struct child_launch *launch,
                        void (*ended)(struct child_process *child, int exit_status,
                                      int signal_number),
                        struct error *error);

/*
 * The same for a process that is gaspipe's child already, in a process group of its own. If this
 * fails, it is killed and reaped.
 */
int child_process_adopt(struct child_process *child, uv_loop_t *loop, pid_t pid,
                        void (*ended)(struct child_process *child, int exit_status,
                                      int signal_number),
                        struct error *error);

/* After `end` was closed. */
void child_process_free(struct child_process *child);

#endif
