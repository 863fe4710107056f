/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_OUTPUTS_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_OUTPUTS_H

#include "base/error.h"
#include "supervisor/trace/trace_options.h"
#include "trace/report/profile.h"

/* Writes the files that the options name. 0, or -1 with ERROR_SYSTEM. */
int trace_outputs_write(const struct trace_options *options, const struct trace_profile *profile,
                        struct error *error);

/* Writes the report, a text that is already there, on stderr or into its file. */
int trace_outputs_report(const struct trace_options *options, struct buf *report,
                         struct error *error);

#endif
