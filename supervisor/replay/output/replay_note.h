/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_OUTPUT_REPLAY_NOTE_H
#define GASPIPE_SUPERVISOR_REPLAY_OUTPUT_REPLAY_NOTE_H

#include <jansson.h>
#include <stdbool.h>

#include "gas/gas_model.h"
#include "supervisor/replay/output/replay_result.h"

/* What is told while a replay goes on: differences that are passed over, and each delivery. */
struct replay_notes {
    struct buf lines;            /* that are still to be printed */
    bool json;                   /* as JSON lines; else only the differences are told */
    bool deliveries;             /* with `json`: each delivery, too */
    const struct gas_model *gas; /* prices deliveries; borrowed; NULL: nothing does */
};

/* How one delivery went. */
struct replay_note_delivery {
    const char *status; /* "same", "differs", "cut" */
    size_t syscalls;
    const struct recorded_result *recorded;
    const struct meter *meter; /* NULL: it has none */
};

/* Of the vat's last delivery. What memory ran out for shows in `lines`. Adds its price to the
 * result's. */
void replay_note_tolerated(struct replay_notes *notes, struct replay_result *result,
                           const struct difference *difference);
void replay_note_delivery(struct replay_notes *notes, struct replay_result *result,
                          const struct replay_note_delivery *delivery);

/* Appends what a "tolerated" JSON line says as a line for people. */
void replay_note_put_text(struct buf *out, const json_t *line);

#endif
