/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OTLP_OTLP_SPAN_H
#define GASPIPE_TOOLS_OTLP_OTLP_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * One span in the JSON of OTLP: ids in lower-case hexadecimal, 64-bit integers
 * as decimal strings, enumerations as numbers.
 *
 * Format: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */

/* Which span it is; a trace's and a span's id are never all zeros. */
struct otlp_context {
    uint64_t trace[2];
    uint64_t span;
};

/* SpanKind of opentelemetry/proto/trace/v1/trace.proto. */
enum otlp_span_kind {
    OTLP_INTERNAL = 1,
    OTLP_CLIENT = 3,
    OTLP_PRODUCER = 4,
    OTLP_CONSUMER = 5,
};

struct otlp_span {
    struct otlp_context context;
    uint64_t parent; /* span id in the same trace; 0: it is the root */
    enum otlp_span_kind kind;
    const char *name; /* UTF-8 */
    int64_t from, to; /* nanoseconds since the epoch, from <= to */
    const struct otlp_context *links;
    size_t link_count;
    const char *problem; /* of one that failed; NULL: it did not */
};

/* An id out of a digest (slog/model/digest.h), which a digest of the same is again. */
uint64_t otlp_id(uint64_t digest);

/* The id of a span within another one: what it is, and which of these. */
uint64_t otlp_child_id(uint64_t parent, const char *role, uint64_t number);

/* Appends the span up to its attributes, which may follow. */
void otlp_span_begin(struct buf *out, const struct otlp_span *span);

/* Each appends an attribute. */
void otlp_attribute_text(struct buf *out, const char *key, const char *text);
void otlp_attribute_integer(struct buf *out, const char *key, int64_t number);
void otlp_attribute_double(struct buf *out, const char *key, double number);
void otlp_attribute_bool(struct buf *out, const char *key, bool truth);

/* Ends the attributes and the span. */
void otlp_span_end(struct buf *out);

#endif
