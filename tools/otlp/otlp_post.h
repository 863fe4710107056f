/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OTLP_OTLP_POST_H
#define GASPIPE_TOOLS_OTLP_OTLP_POST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Sends spans to a collector with OTLP/HTTP, and counts those that it did not take.
 *
 * A request that got no answer, or one of 429, 502, 503, 504, is sent again, after
 * the time that Retry-After says or else 0.5, 1, 2, … seconds, up to a minute in all
 * (OTEL_EXPORTER_OTLP_TIMEOUT, in milliseconds). Once one was given up so, for as
 * long again nothing is sent and all is counted as not taken: a dead collector
 * costs its minute once and not for each request.
 *
 * Protocol: https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
struct otlp_post;

/*
 * A URL without a path gets /v1/traces. OTEL_EXPORTER_OTLP_HEADERS has headers to
 * send along, NAME=VALUE with commas between, values percent-encoded. NULL with
 * ERROR_USAGE when the URL or one of these variables makes no sense.
 */
struct otlp_post *otlp_post_open(const char *url, struct error *error);

/*
 * Sends a request that holds so many spans; returns when it is taken or given up.
 * False: the collector found it too large (413) and it holds more than one span;
 * nothing is counted, and it is to be sent again in parts.
 */
bool otlp_post_send(struct otlp_post *post, const struct buf *request, uint64_t spans);

/* Frees. -1 with ERROR_SYSTEM when some spans were not taken. NULL is allowed. */
int otlp_post_close(struct otlp_post *post, struct error *error);

#endif
