/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_DELIVERY_ROWS_H
#define GASPIPE_TOOLS_STATS_DELIVERY_ROWS_H

#include <stdbool.h>

#include "base/buf.h"
#include "slog/model/model.h"
#include "tools/stats/rank.h"

/*
 * A table with one row per delivery, in the columns of `gaspipe run`. If a delivery waited for a
 * CPU, that is a column of its own, and pipe, worker and kernel are without it. On a terminal of
 * less than 100 columns the table has neither this nor unattributed time nor errors.
 */

/* Another column; `name` is NULL if absent. */
struct delivery_rows_extra {
    const char *name;
    double (*value)(const struct model_delivery *delivery); /* NAN if absent */
};

/* True if the rows have this column of --sort anyway. */
bool delivery_rows_show(const char *column);

/* Appends the row to the entry's text; a text that failed is reported when it is used. */
void delivery_rows_render(struct rank_entry *entry, const struct model_delivery *delivery,
                          const struct delivery_rows_extra *extra);

/*
 * Appends the headings and the rows of all entries of a sorted rank that has some, and writes them
 * when they are many. Returns 0, or -1.
 */
int delivery_rows_append(struct buf *out, const struct rank *rank,
                         const struct delivery_rows_extra *extra, struct error *error);

/* The entry's text after its row. */
const char *delivery_rows_rest(const struct rank_entry *entry, size_t *length);

#endif
