/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_PLACEMENT_H
#define GASPIPE_SUPERVISOR_RUN_RUN_PLACEMENT_H

#include "base/error.h"
#include "slog/write/writer.h"
#include "supervisor/process/placement/placement.h"
#include "supervisor/schedule/log/delivery_report.h"

/*
 * Tells the placement how long a delivery waited, so that it can move the workers to another
 * processor, and logs the move. `overlap`: deliveries do. The slog may be NULL.
 */
int run_placement_observe(struct placement *placement, struct slog_writer *slog, bool overlap,
                          const struct delivery_report *report, struct error *error);

#endif
