/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_STARTUP_H
#define GASPIPE_SUPERVISOR_SCHEDULE_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/schedule/active_crank.h"
#include "supervisor/schedule/policy.h"

/*
 * The start of a run: starts the workers of all living vats at the same time, and restores the
 * vats. In the slog each vat's start is one piece, in the order of the vats. Functions return -1
 * with the error.
 */

struct startup_vat {
    int64_t vat;
    bool arrived;
    unsigned failures; /* of its start, in a row */
};

struct startup {
    const struct active_crank *crank;        /* borrowed */
    const struct snapshot_policy *snapshots; /* borrowed */
    bool few_workers; /* there may be fewer workers than vats: start only those that must work */
    size_t at_once;   /* workers starting at a time; 0: all */

    int64_t last; /* the vat that was started last */
    bool all_started;
    size_t starting;          /* started, and not there yet */
    struct startup_vat *vats; /* that were started, in order */
    size_t count, capacity;
    size_t logged; /* the first of them that is not there yet: its lines go straight to the slog */
};

void startup_free(struct startup *startup);

/* Starts as many vats as may start at a time. */
int startup_go(struct startup *startup, struct error *error);

/* The vat is where it should be, or cannot be started, which its first delivery will report. */
int startup_arrived(struct startup *startup, int64_t vat, struct error *error);

/* It could not be started, or write the snapshot that is due: how often. */
unsigned startup_failed(struct startup *startup, int64_t vat);

/* Every vat has arrived. */
bool startup_is_over(const struct startup *startup);

#endif
