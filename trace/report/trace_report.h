/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_REPORT_TRACE_REPORT_H
#define GASPIPE_TRACE_REPORT_TRACE_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/output/chrome_trace.h"
#include "base/profile/profile.h"
#include "trace/calls/call_tree.h"
#include "trace/read/trace_archive.h"
#include "trace/read/trace_file.h"

/* A function. Texts are borrowed. */
struct traced_function {
    const char *name;
    const char *module;   /* its file */
    uint64_t address;     /* in that file */
    const char *build_id; /* of that file; "": unknown */
    const char *source;   /* the source file in which it begins; NULL: unknown */
    int line;             /* in that */
    char *inlined;        /* owned: functions compiled into it, '\n' between; NULL: unknown */
};

/* A settled tree with the names that it needs. Borrowed. */
struct trace_report {
    const struct call_tree *tree;
    const struct traced_function *functions; /* functions[i] has the number i + 1 */
    size_t function_count;
    const struct archive_delivery *deliveries; /* deliveries[i] is CALL_TREE_GROUPS + i */
    size_t delivery_count;
    const struct call_spans *spans; /* settled, of the deliveries; NULL: unknown */
    struct trace_clock clock;
};

/* Its name, or "?" for an invalid number. */
const char *trace_report_name(const struct trace_report *report, uint32_t number);

/* Each appends a report and returns 0, or -1 with ERROR_SYSTEM if out of memory. */

/* A table of the `top` most expensive functions; 0: all. */
int trace_report_put_table(struct buf *out, const struct trace_report *report, size_t top,
                           struct error *error);

/* One JSON object a line for each function, and each group. */
int trace_report_put_json(struct buf *out, const struct trace_report *report, struct error *error);

/* Folded stacks for flame graphs, in nanoseconds. */
int trace_report_put_folded(struct buf *out, const struct trace_report *report,
                            struct error *error);

/* callgrind.out, in nanoseconds. */
int trace_report_put_callgrind(struct buf *out, const struct trace_report *report,
                               struct error *error);

/* The lines of a profile for slogreport (docs/profile-format.md, "Time"): deliveries' times by
 * function, their calls as trees, and the longest calls. */
int trace_report_put_deliveries(struct buf *out, const struct trace_report *report,
                                struct error *error);

/*
 * Writes a trace's file (docs/trace-format.md) for Perfetto while it is read: a track for each
 * thread with its functions, and one for each vat with its deliveries, on CLOCK_MONOTONIC.
 */
struct perfetto {
    const char *path, *trace;
    const struct archive *archive; /* that is being read */
    struct archive_listener listener;
    struct chrome_trace out;
    struct perfetto_thread *threads; /* owned */
    size_t thread_count, thread_capacity;
    size_t current;     /* the thread whose calls come */
    struct error error; /* if writing failed */
};

/* For archive_read(); `path` is written, `trace` read. perfetto_close() in any case. */
void perfetto_open(struct perfetto *perfetto, const char *path, const char *trace,
                   const struct archive *archive);

/* Writes the rest after archive_read(), whose result is `result`. -1 with ERROR_SYSTEM, or with
 * that call's error. */
int perfetto_close(struct perfetto *perfetto, int result, struct error *error);

#endif
