/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OTLP_OTLP_BATCH_H
#define GASPIPE_TOOLS_OTLP_OTLP_BATCH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Spans gathered to ExportTraceServiceRequests of 512 KiB or so, which go to a
 * collector or, one a line, into a file.
 */
struct otlp_batch;

/* Whether it is a URL (http://, https://); else it is a file. */
bool otlp_batch_is_url(const char *where);

/*
 * `where` is as otlp_batch_is_url() takes it; a file is written anew, as of
 * base/output/output_file.h, or, if `growing`, for one who reads it meanwhile. The resource's
 * service.name is "kernel", or what the environment's OTEL_SERVICE_NAME says. NULL with ERROR_USAGE
 * (a URL or environment that makes no sense) or ERROR_SYSTEM.
 */
struct otlp_batch *otlp_batch_open(const char *where, bool growing, struct error *error);

/* Where the next span is to be appended, all of it. */
struct buf *otlp_batch_span(struct otlp_batch *batch);

/* Remembers that memory ran out, for the next otlp_batch_give(). */
void otlp_batch_fail(struct otlp_batch *batch);

/*
 * Gives the spans on if there are enough of them. -1 when memory ran out or the
 * file could not be written; what a collector does not take is only counted.
 */
int otlp_batch_give(struct otlp_batch *batch, struct error *error);

/* Gives on what there is, be it little; -1 as otlp_batch_give(). */
int otlp_batch_flush(struct otlp_batch *batch, struct error *error);

/*
 * Gives the rest on, also when `error` cannot be helped any more, and frees.
 * -1 with ERROR_SYSTEM also when a collector did not take all spans: how many,
 * and why. NULL is allowed.
 */
int otlp_batch_close(struct otlp_batch *batch, struct error *error);

#endif
