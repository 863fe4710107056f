/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_METRICS_METRICS_H
#define GASPIPE_TOOLS_METRICS_METRICS_H

#include <stdbool.h>

#include "base/error.h"
#include "slog/model/model.h"

/*
 * Metrics of a kernel for Prometheus: deliveries, their times by part and vat as histograms,
 * computrons, stalls, phases, blocks, heap snapshots. slogreport(1) lists them. All count from the
 * beginning of the slog, so that counters continue where they were after a restart.
 */
struct metrics;

/*
 * `path`: a file for node_exporter's textfile collector, or NULL. `where`: "PORT", "127.0.0.1:PORT"
 * or "[::1]:PORT" to serve them at (port 0: a free one), or NULL. NULL with ERROR_USAGE or
 * ERROR_SYSTEM.
 */
struct metrics *metrics_open(const char *path, const char *where, struct error *error);

/* Replayed deliveries are not counted. -1 when out of memory. */
int metrics_add(struct metrics *metrics, const struct model_delivery *delivery,
                struct error *error);
void metrics_add_phase(struct metrics *metrics, const struct phase_span *span);
void metrics_add_block(struct metrics *metrics, const struct phase_block *block);
void metrics_note(struct metrics *metrics, const struct model_note *note);

/* Writes the file, whole or not at all, and gives the server the same: at once if `now`, else at
 * most once a second. */
int metrics_flush(struct metrics *metrics, bool now, struct error *error);

void metrics_close(struct metrics *metrics); /* NULL is allowed */

#endif
