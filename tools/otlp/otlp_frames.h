/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OTLP_OTLP_FRAMES_H
#define GASPIPE_TOOLS_OTLP_OTLP_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "slog/model/model.h"

/*
 * A span in OTLP's JSON: ids in lower-case hexadecimal, 64-bit integers as decimal strings,
 * enumerations as numbers.
 *
 * Format: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */

/* Identifies a span. Ids are never all zeros. */
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
    const char *problem; /* the error's text; NULL if it succeeded */
};

/* The id of a span within another, by role and number. */
uint64_t otlp_child_id(uint64_t parent, const char *role, uint64_t number);

/* Appends the span up to its attributes. */
void otlp_span_begin(struct buf *out, const struct otlp_span *span);

/* Append an attribute. */
void otlp_attribute_text(struct buf *out, const char *key, const char *text);
void otlp_attribute_integer(struct buf *out, const char *key, int64_t number);
void otlp_attribute_double(struct buf *out, const char *key, double number);
void otlp_attribute_bool(struct buf *out, const char *key, bool truth);

/* Ends the attributes and the span. */
void otlp_span_end(struct buf *out);

/*
 * The open blocks, cranks and replays, which contain deliveries' spans. A block is a trace; so is
 * a crank outside of blocks, and a replay outside of both.
 *
 * Ids come from the line that begins a frame: its number or vat and both clocks, which no other
 * machine shares. Without that line, the first delivery's vat, number and start replace it.
 *
 * A frame's span is exported when it ends and if it contains a delivery's span. It lasts from its
 * first line to its last, or as far as its deliveries reach.
 */

enum { OTLP_FRAMES_MOST = 32 };

struct otlp_frame {
    bool open;
    bool implied; /* it has no first line */
    bool used;    /* it contains a span */
    bool ending;  /* of a block: after end-block, perhaps before the commit */
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

/* Receives the spans of frames that end. */
struct otlp_batch;

/* A line that begins or ends a frame. */
void otlp_frames_line(struct otlp_frames *frames, const struct model_frame *line,
                      struct otlp_batch *batch);

/*
 * Finds the frame of a delivery. Opens it, and ends frames that no line ends, if needed. -1 when
 * out of memory, which `batch` remembers.
 */
int otlp_frames_find(struct otlp_frames *frames, const struct model_delivery *delivery,
                     struct otlp_batch *batch);

/* Adds a span from `from` to `to` to this frame. */
void otlp_frames_use(struct otlp_frames *frames, int frame, int64_t from, int64_t to);

/*
 * Finds what contains a span from `from` to `to` for which no line names a crank: the crank begun
 * last, else the block. False if nothing does.
 */
bool otlp_frames_around(struct otlp_frames *frames, int64_t from, int64_t to,
                        struct otlp_context *context);

/* Marks all open frames: the clock was set. */
void otlp_frames_clock_changed(struct otlp_frames *frames);

/* Ends all frames, at the end of a kernel process or of the file. */
void otlp_frames_end_all(struct otlp_frames *frames, struct otlp_batch *batch);

#endif
