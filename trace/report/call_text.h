/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_REPORT_CALL_TEXT_H
#define GASPIPE_TRACE_REPORT_CALL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "trace/read/trace_archive.h"

/*
 * All calls of a trace's file as text, in the order of time. A line is where a call begins,
 * indented by its depth, and another where it ends, with how long it took. A call that makes none
 * has one line. All calls are kept in memory until the file has been read.
 */
struct call_text {
    const struct archive *archive; /* that is being read */
    struct archive_listener listener;
    struct call_text_line *lines; /* owned */
    size_t line_count, line_capacity;
    struct call_text_thread *threads; /* owned */
    size_t thread_count, thread_capacity;
    uint64_t *values; /* owned: arguments and results */
    size_t value_count, value_capacity;
    size_t current; /* the thread whose calls come */
    bool failed;    /* out of memory */
};

/* For archive_read(). call_text_close() in any case. */
void call_text_open(struct call_text *text, const struct archive *archive);

/* Receives the text in pieces of whole lines. 0, or -1 with the error filled. */
typedef int call_text_write(void *context, const struct buf *lines, struct error *error);

/* After archive_read(). -1 with ERROR_SYSTEM, or with the error of `write`. */
int call_text_put(struct call_text *text, call_text_write *write, void *context,
                  struct error *error);
void call_text_close(struct call_text *text);

#endif
