/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_REFUSAL_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Why a process cannot be traced, as far as the system says so. */
struct trace_obstacles {
    int seccomp;       /* mode; 0: the process is not confined */
    bool shadow_stack; /* of CET: it would not return through a trampoline */
    pid_t tracer;      /* that traces it already; 0: nobody does */
    int64_t user;      /* to whom it belongs; -1: not known */
    int yama;          /* kernel.yama.ptrace_scope; 0 also where the kernel has no Yama */
};

/* Reads the text of /proc/PID/status, where what is not known stays as it is. */
void trace_obstacles_read_status(struct trace_obstacles *obstacles, const char *status);

/* Those of a process. -1 with ERROR_INPUT: there is none. */
int trace_obstacles_read(struct trace_obstacles *obstacles, pid_t process, struct error *error);

/* -1 with ERROR_INPUT where no agent can be loaded into the process, or no function patched. */
int trace_obstacles_check(const struct trace_obstacles *obstacles, pid_t process,
                          struct error *error);

/* ptrace(2) has failed with this number: -1 with ERROR_INPUT, one line that says why and what to
 * do. `own` is the caller's user. */
int trace_obstacles_refuse(const struct trace_obstacles *obstacles, pid_t process, int errnum,
                           int64_t own, struct error *error);

#endif
