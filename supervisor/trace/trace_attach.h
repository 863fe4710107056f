/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_ATTACH_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_ATTACH_H

#include <sys/types.h>

#include "base/error.h"
#include "trace/ring/trace_ring.h"

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
