/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_SPANS_H
#define GASPIPE_SLOG_MODEL_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json/scan.h"
#include "slog/model/model.h"

/* What a deliver-result line's `dr` says: how it went, and the worker's meter. */

/* A growing list of moments in nanoseconds. */
struct stamps {
    int64_t *at; /* owned */
    size_t count;
    size_t capacity;
};

struct outcome {
    bool ok;
    struct scan_span problem; /* the error's words, escapes as they are; borrowed from the line */
    uint64_t result_digest;   /* of status and result, as text */
    bool metered;             /* false: no worker, or it died */
    double compute;           /* computrons; NAN: not said */
    double instructions;      /* NAN: not said */
    double block_cost;        /* units of the compiled-in meter; NAN: not said */
    double gas_burnt;         /* by NEAR's costs; NAN: not said */
    double bytes_read, bytes_written; /* in the counted region; NAN: not said */
    double heap_slots;                /* in use in the engine's heap; NAN: not said */
    double allocated;         /* bytes that the engine took for heap and chunks; NAN: not said */
    double cpu_user, cpu_sys; /* microseconds of the worker's CPU; NAN: not said */
    double switched_out;      /* involuntary context switches; NAN: not said */
    struct stamps timestamps; /* nanoseconds since the epoch, to the microsecond */
    struct stamps monotimes;  /* nanoseconds of CLOCK_MONOTONIC; empty: not said */
    struct stamps client_timestamps, client_monotimes; /* the same of the worker's client */
};

/*
 * Reads a `dr` into *outcome, whose lists are used again and again (all zeros
 * before the first use). Timestamps that are not numbers count as not there,
 * all of them. -1 only when memory ran out.
 */
int outcome_read(struct scan_span dr, struct outcome *outcome, struct error *error);

/* Copies status, digest and meter. */
void outcome_fill(const struct outcome *outcome, struct model_delivery *delivery);

void outcome_free(struct outcome *outcome);

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
