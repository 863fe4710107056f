/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_SPANS_H
#define GASPIPE_SLOG_MODEL_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"
#include "slog/model/outcome.h"

/* Cuts a delivery's time into its spans: the part of the model that computes. */

/* All moments of a delivery, on one clock. */
struct moments {
    int64_t sent, returned; /* the kernel's: deliver, deliver-result */
    /* When the frames of both left and came: the same, unless that was noted. */
    int64_t frame_sent, frame_returned;
    const int64_t *stamps; /* the worker's */
    size_t stamp_count;
    const struct model_event *events; /* requests in the order of their lines */
    size_t event_count;
    bool replay;
    bool capped;             /* the worker keeps SPANS_CAP stamps and no more */
    bool changed_before_end; /* the clock was set after the last request's line */
    bool steady;             /* this clock cannot be set: the lines' changes do not count */
};

/* How many timestamps xsnap keeps of a delivery. */
enum { SPANS_CAP = 502 };

/* A growing list; all zeros is an empty one. */
struct spans {
    struct model_span *at; /* owned */
    size_t count;
    size_t capacity;
};

/*
 * Fills *spans, and of *delivery: total, pipe, worker, kernel, unattributed,
 * coverage, overrun, clock_changed, spans. -1 only when memory ran out.
 */
int spans_build(struct spans *spans, const struct moments *moments, struct model_delivery *delivery,
                struct error *error);

void spans_free(struct spans *spans);

/*
 * A client of the worker may note when each frame left it and came to it (docs/swingset.md).
 * With these the pipe's time ends where the client's, and not its kernel's line, begins; what
 * the kernel does between its lines and the frames is the kernel's.
 *
 * Where they fit together with the worker's, one for one and in order: changes *outcome's
 * monotimes and the events' moments to those of the client, on the clock of the lines, and
 * *moments accordingly. Else changes nothing and returns false.
 */
bool client_times_use(struct outcome *outcome, struct model_event *events, struct moments *moments);

#endif
