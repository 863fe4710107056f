/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_SPANS_H
#define GASPIPE_SLOG_MODEL_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json/scan.h"
#include "slog/model/model.h"

/*
 * The `dr` of a deliver-result line: the outcome and the worker's meter. Numbers are NAN if
 * absent.
 */

/* A growing list of moments, nanoseconds. */
struct stamps {
    int64_t *at; /* owned */
    size_t count;
    size_t capacity;
};

struct outcome {
    bool ok;
    struct scan_span problem;         /* the error's text, not unescaped; borrowed from the line */
    uint64_t result_digest;           /* of the text of status and result */
    bool metered;                     /* false: there was no worker, or it died */
    double compute;                   /* computrons */
    double instructions;              /* NAN: not said */
    double block_cost;                /* units of the compiled-in meter */
    double gas_burnt;                 /* by NEAR's costs */
    double bytes_read, bytes_written; /* in the counted region */
    double heap_slots;                /* in use in the engine's heap */
    double allocated;                 /* bytes that the engine allocated for slots and chunks */
    double cpu_user, cpu_sys;         /* microseconds of the worker's CPU */
    double switched_out;              /* involuntary context switches */
    struct stamps timestamps;         /* nanoseconds since the epoch, to the microsecond */
    struct stamps monotimes;          /* nanoseconds of CLOCK_MONOTONIC; empty if absent */
    struct stamps client_timestamps, client_monotimes; /* of the worker's client */
};

/*
 * Parses a `dr` into *outcome, whose lists are reused (all zeros before the first use). If one
 * timestamp is not a number, all count as absent. -1 only when out of memory.
 */
int outcome_read(struct scan_span dr, struct outcome *outcome, struct error *error);

/* Copies status, digest and meter to the delivery. */
void outcome_fill(const struct outcome *outcome, struct model_delivery *delivery);

void outcome_free(struct outcome *outcome);

/* Cuts a delivery's time into spans. */

/* All moments of a delivery, on one clock. */
struct moments {
    int64_t sent, returned; /* the kernel's lines */
    /* When their frames left and came; the same as the lines, unless the client noted it. */
    int64_t frame_sent, frame_returned;
    const int64_t *stamps; /* the worker's */
    size_t stamp_count;
    const struct model_event *events; /* in the order of their lines */
    size_t event_count;
    bool replay;
    bool capped;             /* the worker keeps at most SPANS_CAP stamps */
    bool changed_before_end; /* the clock was set after the last request's line */
    bool steady;             /* this clock cannot be set */
};

/* Timestamps that xsnap keeps of a delivery. */
enum { SPANS_CAP = 502 };

/* A growing list; all zeros is an empty one. */
struct spans {
    struct model_span *at; /* owned */
    size_t count;
    size_t capacity;
};

/*
 * Fills *spans, and of *delivery: total, pipe, worker, kernel, unattributed, coverage, overrun,
 * clock_changed, spans. -1 only when out of memory.
 */
int spans_build(struct spans *spans, const struct moments *moments, struct model_delivery *delivery,
                struct error *error);

/*
 * The same; also slog_pipe and client_pipe if the client's moments are there and match. If
 * `by_client`, they and not the kernel's lines then divide the time, as client_times_use() has it.
 */
int spans_build_by(struct spans *spans, struct outcome *outcome, struct model_event *events,
                   struct moments *moments, bool by_client, struct model_delivery *delivery,
                   struct error *error);

void spans_free(struct spans *spans);

/*
 * The worker's client may note when each frame left and came (docs/swingset.md). The pipe's time
 * then ends where the client's begins, not where the kernel's line is; time between the kernel's
 * lines and the frames is the kernel's.
 *
 * If the client's moments match the worker's one by one, in order: replaces the events' moments by
 * the client's, moves *outcome's monotimes to the clock of the lines, and sets *moments
 * accordingly. Else changes nothing and returns false.
 */
bool client_times_use(struct outcome *outcome, struct model_event *events, struct moments *moments);

#endif
