/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OTLP_OTLP_BATCH_H
#define GASPIPE_TOOLS_OTLP_OTLP_BATCH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Collects spans into ExportTraceServiceRequests of about 512 KiB, which go to a collector or, one
 * per line, into a file.
 */
struct otlp_batch;

/* True for a URL (http://, https://); false for a file. */
bool otlp_batch_is_url(const char *where);

/*
 * `where` is a URL or a file. The file is replaced as in base/output/output_file.h or, if
 * `growing`, written in place so that it can be read meanwhile. The resource's service.name is
 * OTEL_SERVICE_NAME from the environment or "kernel". NULL with ERROR_USAGE (an invalid URL or
 * environment) or ERROR_SYSTEM.
 */
struct otlp_batch *otlp_batch_open(const char *where, bool growing, struct error *error);

/* The buffer to which the whole next span must be appended. */
struct buf *otlp_batch_span(struct otlp_batch *batch);

/* Makes the next otlp_batch_give() fail, out of memory. */
void otlp_batch_fail(struct otlp_batch *batch);

/*
 * Sends the spans if there are enough. -1 when out of memory or if the file cannot be written;
 * spans that a collector refuses are only counted.
 */
int otlp_batch_give(struct otlp_batch *batch, struct error *error);

/* Sends all spans. -1 as otlp_batch_give(). */
int otlp_batch_flush(struct otlp_batch *batch, struct error *error);

/*
 * Sends the rest and frees. -1 with ERROR_SYSTEM also if a collector refused spans, with their
 * number and the reason. NULL is allowed.
 */
int otlp_batch_close(struct otlp_batch *batch, struct error *error);

#endif
