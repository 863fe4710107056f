/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_OUTCOME_H
#define GASPIPE_SLOG_MODEL_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json/scan.h"

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

void outcome_free(struct outcome *outcome);

#endif
