/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_SESSION_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/process/launcher.h"
#include "trace/read/trace_file.h"

/* Traces all workers of a command into one file, which a thread of its own writes. */
struct trace_session;

struct trace_session_options {
    const char *path; /* the file; NULL: no trace is wanted */
    enum trace_clock_kind clock;
    uint64_t overhead; /* percent of each worker's time that tracing may cost it; 0: no limit */
};

/* NULL with ERROR_SYSTEM. */
struct trace_session *trace_session_open(const struct trace_session_options *options,
                                         struct error *error);

/* For launchers; borrowed from the session. */
const struct launcher_trace *trace_session_launcher(struct trace_session *session);

/* Notes a delivery, so that the file's reader can assign functions to it. Texts are borrowed. */
int trace_session_delivery(struct trace_session *session, const struct trace_delivery *delivery,
                           struct error *error);

/* Reads the rest of the rings and closes the file. NULL is allowed. -1 with the first error of the
 * session. */
int trace_session_close(struct trace_session *session, struct error *error);

#endif
