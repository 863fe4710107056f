/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_REPORT_PERFETTO_H
#define GASPIPE_TRACE_REPORT_PERFETTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output/chrome_trace.h"
#include "trace/read/trace_archive.h"

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

/* After archive_read(), whose `result` it takes: writes what is left. -1 with ERROR_SYSTEM, or with
 * the error of before. */
int perfetto_close(struct perfetto *perfetto, int result, struct error *error);

#endif
