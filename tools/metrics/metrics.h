/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_METRICS_METRICS_H
#define GASPIPE_TOOLS_METRICS_METRICS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"

/*
 * What a kernel does as metrics for Prometheus: deliveries, their times by part and vat as
 * histograms, computrons, stalls, phases, blocks, heap snapshots. slogreport(1) lists them. All
 * grow with the slog from its beginning, so that a restarted reader counts on.
 *
 * The first METRICS_VATS vats have series of their own; all further ones are the vat "others".
 */
enum { METRICS_VATS = 500 };

struct metrics;

struct metrics *metrics_new(struct error *error);
void metrics_free(struct metrics *metrics); /* NULL is allowed */

/* Replayed deliveries are not counted. -1 when memory ran out. */
int metrics_add(struct metrics *metrics, const struct model_delivery *delivery,
                struct error *error);
void metrics_add_phase(struct metrics *metrics, const struct phase_span *span);
void metrics_add_block(struct metrics *metrics, const struct phase_block *block);
void metrics_note(struct metrics *metrics, const struct model_note *note);

/* How Prometheus reads them: its own text, which node_exporter takes as well, or OpenMetrics 1.0.
 */
enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS };

/* Appends all of them. Failure to find the stalls is ERROR_SYSTEM; other failure stays in the
 * buffer. */
int metrics_put(struct metrics *metrics, enum metrics_format format, struct buf *out,
                struct error *error);

#endif
