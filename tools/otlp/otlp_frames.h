/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OTLP_OTLP_FRAMES_H
#define GASPIPE_TOOLS_OTLP_OTLP_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "slog/model/model.h"
#include "tools/otlp/otlp_span.h"

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
