/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OUTPUT_CHROME_TRACE_H
#define GASPIPE_BASE_OUTPUT_CHROME_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/output/output_file.h"

/*
 * A file in Chrome's Trace Event Format, JSON, which Perfetto and speedscope open. Times are
 * nanoseconds. A track belongs to a process of the trace; both have numbers, and a name each if
 * chrome_trace_name() gives one. Out of memory is kept in the buffer, until it is written.
 *
 * Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 */
struct chrome_trace {
    struct output_file file;
    struct buf out;
    bool any;       /* it has an event */
    bool unwritten; /* writing failed, and was reported */
};

struct chrome_track {
    unsigned process;
    uint32_t number;
};

/* `what` is the file in messages, "the trace". -1 with ERROR_SYSTEM. */
int chrome_trace_open(struct chrome_trace *trace, const char *path, const char *what,
                      struct error *error);

/* Names a track ("thread_name") or its process ("process_name"). */
void chrome_trace_name(struct chrome_trace *trace, struct chrome_track track, const char *what,
                       const char *name);

/*
 * Begins an event. The caller may append members to `out`, such as chrome_trace_time(), and must
 * then call chrome_trace_end_event().
 */
void chrome_trace_begin_event(struct chrome_trace *trace, const char *phase,
                              struct chrome_track track, const char *name);
void chrome_trace_time(struct chrome_trace *trace, const char *member, int64_t nanoseconds);
void chrome_trace_end_event(struct chrome_trace *trace);

/*
 * A span is two events, B and E, so that one span's end and the next one's beginning have the same
 * digits. With one event and its length (X) each reader would add the two, and rounding would make
 * nested spans overlap. The length, if known, is added for other readers.
 */
enum { CHROME_TRACE_NO_LENGTH = -1 };
void chrome_trace_begin_span(struct chrome_trace *trace, struct chrome_track track,
                             const char *category, const char *name, int64_t from, int64_t length);
void chrome_trace_begin_span_end(struct chrome_trace *trace, struct chrome_track track,
                                 const char *name, int64_t to);

/* The same without further members. */
void chrome_trace_open_span(struct chrome_trace *trace, struct chrome_track track,
                            const char *category, const char *name, int64_t from, int64_t length);
void chrome_trace_close_span(struct chrome_trace *trace, struct chrome_track track,
                             const char *name, int64_t to);

/* Writes the buffer if it is large. -1 with ERROR_SYSTEM, also when out of memory. */
int chrome_trace_write(struct chrome_trace *trace, struct error *error);

/* Ends the file, unless chrome_trace_write() has failed. chrome_trace_free() in any case. */
int chrome_trace_finish(struct chrome_trace *trace, struct error *error);
void chrome_trace_free(struct chrome_trace *trace);

#endif
