/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OTLP_OTLP_FRAMES_H
#define GASPIPE_TOOLS_OTLP_OTLP_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "slog/model/model.h"

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

/*
 * The blocks, cranks and replays that are open: what a delivery's span lies
 * in, and which trace it belongs to. A block is a trace, a crank outside of
 * blocks is one, and a replay outside of both.
 *
 * Ids come from what the line that begins a frame says: its number or vat and
 * both clocks, which no other machine has alike. Where the file does not have
 * that line, the first delivery's vat, number and start stand for it.
 *
 * A frame gives its span when it ends and if a delivery's span lies in it: from
 * its first line to its last one, or as far as deliveries reach beyond these.
 */

enum { OTLP_FRAMES_MOST = 32 };

struct otlp_frame {
    bool open;
    bool implied; /* no line began it */
    bool used;    /* a span lies in it */
    bool ending;  /* of a block: its end-block has come, and its commit perhaps not */
    bool clock_changed;
    enum model_frame_kind kind;
    int64_t number; /* as in struct model_frame */
    char *vat_id;   /* of a replay; owned */
    int parent;     /* index of the frame around it; -1: none */
    struct otlp_context context;
    int64_t from, to;
};

/* All zeros has none open. */
struct otlp_frames {
    struct otlp_frame at[OTLP_FRAMES_MOST];
};

/* What receives the spans of frames that end. */
struct otlp_batch;

/* A line that begins or ends a frame. */
void otlp_frames_line(struct otlp_frames *frames, const struct model_frame *line,
                      struct otlp_batch *batch);

/*
 * The index of the frame that the delivery lies in; it is opened, and others
 * that no line ends are ended, when need be. -1 when memory ran out, which
 * `batch` remembers.
 */
int otlp_frames_find(struct otlp_frames *frames, const struct model_delivery *delivery,
                     struct otlp_batch *batch);

/* A span from `from` to `to` lies in this frame. */
void otlp_frames_use(struct otlp_frames *frames, int frame, int64_t from, int64_t to);

/*
 * The context of what a span from `from` to `to`, of which no line says its crank, lies in: the
 * crank that was begun last, else the block. False when it lies in none.
 */
bool otlp_frames_around(struct otlp_frames *frames, int64_t from, int64_t to,
                        struct otlp_context *context);

/* The clock was set: said of all that are open. */
void otlp_frames_clock_changed(struct otlp_frames *frames);

/* Ends all, as where a kernel's process or the file ends. */
void otlp_frames_end_all(struct otlp_frames *frames, struct otlp_batch *batch);

#endif
