/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_INTERVAL_ROWS_H
#define GASPIPE_TOOLS_COMMAND_INTERVAL_ROWS_H

#include "base/buf.h"
#include "tools/stats/intervals.h"

/*
 * One row per interval or block. Intervals without deliveries are one row together, however many
 * follow each other; blocks have none.
 */
void interval_rows_text(struct buf *out, const struct intervals *intervals);
void interval_rows_json(struct buf *out, const struct intervals *intervals);
void interval_rows_csv(struct buf *out, const struct intervals *intervals);

#endif
