/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_METRICS_METRICS_H
#define GASPIPE_TOOLS_METRICS_METRICS_H

#include <stdbool.h>

#include "base/error.h"
#include "slog/model/model.h"

struct metrics;

/* Replayed deliveries are not counted. -1 when memory ran out. */
int metrics_add(struct metrics *metrics, const struct model_delivery *delivery,
                struct error *error);
void metrics_add_phase(struct metrics *metrics, const struct phase_span *span);
void metrics_add_block(struct metrics *metrics, const struct phase_block *block);
void metrics_note(struct metrics *metrics, const struct model_note *note);

/* Where metrics go: into a file for node_exporter's textfile collector, and to a server. */
struct metrics_sink;

/* path, where: NULL: not wanted. NULL with the error, as metrics_server_open(). */
struct metrics_sink *metrics_sink_open(const char *path, const char *where, struct error *error);

/* To be filled. */
struct metrics *metrics_sink_metrics(struct metrics_sink *sink);

/* Writes the file, whole or not at all, and gives the server the same: at once if `now`, else if a
 * second has passed since it last did. */
int metrics_sink_flush(struct metrics_sink *sink, bool now, struct error *error);

void metrics_sink_close(struct metrics_sink *sink); /* NULL is allowed */

#endif
