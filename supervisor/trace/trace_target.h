/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_TARGET_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_TARGET_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "trace/ring/trace_ring.h"

/* 0, or -1 with ERROR_INPUT where functions cannot be traced: on all machines but x86-64. */
int trace_machine_check(struct error *error);

/* A program that was started with the agent. */
struct trace_child {
    pid_t pid;
    int pidfd;
};

/*
 * Starts `program`, a path, with gaspipe's stdin, stdout, stderr and environment, and the ring as a
 * descriptor. 0, or -1 with ERROR_INPUT if no agent can be preloaded into the program, or
 * ERROR_SYSTEM.
 */
int trace_child_start(struct trace_child *child, const char *program, char *const *arguments,
                      int ring_fd, struct error *error);

/* Waits until it ends, for at most that time. 1: it has ended and is reaped; *status as in a shell.
 * 0: not yet. -1 with ERROR_SYSTEM. */
int trace_child_wait(struct trace_child *child, int milliseconds, int *status, struct error *error);

/* A running process into which the agent is loaded. */
struct trace_attached {
    pid_t process;
    int pidfd;
    struct trace_ring *ring;
    const struct trace_sink *sink;
    uint64_t instruction; /* the address of a `syscall` in the process */
    bool failed;          /* the sink has, while the agent was started */
    struct error failure; /* if it has */
};

/*
 * Loads the agent and patches functions while all threads are stopped. Sets options->program to the
 * process's file. 0, or -1 with ERROR_INPUT or ERROR_SYSTEM: the process continues as before.
 */
int trace_attach(struct trace_attached *attached, pid_t process, struct trace_ring_options *options,
                 const struct trace_sink *sink, struct error *error);

/* Restores its text byte for byte, and the return addresses of calls in progress. Returns 0 for a
 * process that has ended. */
int trace_detach(struct trace_attached *attached, struct error *error);

#endif
