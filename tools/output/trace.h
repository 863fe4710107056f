/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_TRACE_H
#define GASPIPE_TOOLS_OUTPUT_TRACE_H

#include "base/error.h"
#include "slog/model/model.h"

/*
 * Deliveries as a trace for Perfetto and speedscope (base/output/chrome_trace.h). Each kernel
 * process is a process of the trace, in which the kernel has a track and each vat has one. On a
 * vat's track each delivery holds its ways through the pipe, and its syscalls, which hold theirs
 * and the kernel's time; on the kernel's track are the syscalls that it handled. What is left open
 * in a delivery is the worker's time. Times count from the first delivery. Spans nest on every
 * track, to the last digit: what would overlap there is shown on a further one, "kernel (2)".
 */
struct trace;

/* Begins a trace in a file as of base/output/output_file.h. NULL with ERROR_SYSTEM. */
struct trace *trace_open(const char *path, struct error *error);

/* Adds the functions of a profile of gaspipe trace to the deliveries that follow, on a track of
 * each vat, "v1 functions". -1 with ERROR_INPUT or ERROR_SYSTEM. */
int trace_add_profile(struct trace *trace, const char *path, struct error *error);

/*
 * Adds a delivery (with labels). One that the clock was set in has only its
 * length, if that can be; one whose deliver line is missing has nothing.
 */
int trace_add(struct trace *trace, const struct model_delivery *delivery, struct error *error);

/*
 * Shows a phase that has ended on the track `phases`; cranks and deliveries are left out. What
 * contains others is on a further lane, since it ends after them.
 */
void trace_add_phase(struct trace *trace, const struct phase_span *span);

/* From here on it is another process of the kernel. */
void trace_new_kernel(struct trace *trace);

/* Ends and closes the file, if all before could be written; frees in any case. NULL is allowed. */
int trace_close(struct trace *trace, struct error *error);

#endif
