/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_TARGET_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_TARGET_H

#include <sys/types.h>

#include "base/error.h"
#include "trace/ring/trace_ring.h"

/* A program that is started with the agent in it. */
struct trace_child {
    pid_t pid;
    int pidfd;
};

/*
 * Starts `program`, a path, with our stdin, stdout, stderr and environment; the agent finds the
 * ring's descriptor. 0, or -1 with ERROR_INPUT for a program that no agent can be brought into,
 * or ERROR_SYSTEM.
 */
int trace_child_start(struct trace_child *child, const char *program, char *const *arguments,
                      int ring_fd, struct error *error);

/* Waits until it ends, for at most so many milliseconds. 1: it has, and is reaped; *status as the
 * shell has it; 0: not yet; -1 with ERROR_SYSTEM. */
int trace_child_wait(struct trace_child *child, int milliseconds, int *status, struct error *error);

/* 0 when the dynamic linker starts this program, so that the agent can be preloaded. */
int trace_child_check(const char *program, struct error *error);

/* A process that runs already, and gets the agent while it does. */
struct trace_attached {
    pid_t process;
    int pidfd;
    struct trace_ring *ring;
    const struct trace_sink *sink;
};

/*
 * Loads the agent, prepares trampolines, and patches functions while all threads are stopped for
 * a moment. options->program is set to the process's file. 0, or -1 with ERROR_INPUT or
 * ERROR_SYSTEM: the process goes on as before.
 */
int trace_attach(struct trace_attached *attached, pid_t process, struct trace_ring_options *options,
                 const struct trace_sink *sink, struct error *error);

/* Puts its text back byte for byte. Calls that are being traced return through their trampolines
 * still. A process that has ended meanwhile needs nothing. */
int trace_detach(struct trace_attached *attached, struct error *error);

#endif
