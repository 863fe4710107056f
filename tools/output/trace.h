/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_TRACE_H
#define GASPIPE_TOOLS_OUTPUT_TRACE_H

#include "base/error.h"
#include "slog/model/model.h"

/*
 * Deliveries as a trace for Perfetto and speedscope (base/output/chrome_trace.h). Each kernel
 * process is a process of the trace, with a track for the kernel and one for each vat. On a vat's
 * track each delivery contains its hops through the pipe and its syscalls, which contain their
 * hops and the kernel's time. The kernel's track has the syscalls that it handled. The rest of a
 * delivery is the worker's time. Times count from the first delivery. Spans nest on every track,
 * to the last digit: a span that would overlap is on another track, "kernel (2)".
 */
struct trace;

/* Begins a trace in a file (base/output/output_file.h). NULL with ERROR_SYSTEM. */
struct trace *trace_open(const char *path, struct error *error);

/*
 * Adds the functions of a profile of gaspipe trace to later deliveries, on one track for each vat,
 * "v1 functions". -1 with ERROR_INPUT or ERROR_SYSTEM.
 */
int trace_add_profile(struct trace *trace, const char *path, struct error *error);

/*
 * Adds a delivery (with labels). If the clock was set in it, adds only its length, if possible;
 * without a deliver line, nothing.
 */
int trace_add(struct trace *trace, const struct model_delivery *delivery, struct error *error);

/*
 * Adds a phase to the track `phases`, except cranks and deliveries. A phase that contains others
 * is on another track, since it ends after them.
 */
void trace_add_phase(struct trace *trace, const struct phase_span *span);

/* Begins another kernel process. */
void trace_new_kernel(struct trace *trace);

/* Finishes the file if nothing failed; frees in any case. NULL is allowed. */
int trace_close(struct trace *trace, struct error *error);

#endif
