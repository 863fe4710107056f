/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_OBSTACLES_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_OBSTACLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Reasons why a process cannot be traced, as far as the system reports them. */
struct trace_obstacles {
    int seccomp;       /* mode; 0: the process is not confined */
    uint64_t ignored;  /* signals: bit N-1 for signal N */
    bool shadow_stack; /* CET's: it lets no function return through a trampoline */
    pid_t tracer;      /* that traces it already; 0: none */
    int64_t user;      /* its owner; -1: not known */
    int yama;          /* kernel.yama.ptrace_scope; 0 also without Yama */
};

/* Reads the text of /proc/PID/status; leaves members that it does not contain. */
void trace_obstacles_read_status(struct trace_obstacles *obstacles, const char *status);

/* Reads a process's obstacles. -1 with ERROR_INPUT: no such process. */
int trace_obstacles_read(struct trace_obstacles *obstacles, pid_t process, struct error *error);

/* -1 with ERROR_INPUT if no agent can be loaded into the process, or no function patched. */
int trace_obstacles_check(const struct trace_obstacles *obstacles, pid_t process,
                          struct error *error);

/* Call it when ptrace(2) has failed with `errnum`. Returns -1 with ERROR_INPUT, one line that says
 * why and what to do. `own` is the caller's user. */
int trace_obstacles_refuse(const struct trace_obstacles *obstacles, pid_t process, int errnum,
                           int64_t own, struct error *error);

#endif
