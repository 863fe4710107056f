/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_CHILD_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_CHILD_H

#include <sys/types.h>

#include "base/error.h"

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

#endif
