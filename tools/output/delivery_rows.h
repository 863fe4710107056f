/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_DELIVERY_ROWS_H
#define GASPIPE_TOOLS_OUTPUT_DELIVERY_ROWS_H

#include <stdbool.h>

#include "base/buf.h"
#include "slog/model/model.h"

/*
 * A table with one row per delivery, in the columns of `gaspipe run`. On a terminal of less than
 * 100 columns it has no unattributed time and no errors.
 */

/* Another column; `name` is NULL if absent. */
struct delivery_rows_extra {
    const char *name;
    double (*value)(const struct model_delivery *delivery); /* NAN if absent */
};

/* True if the rows have this column of --sort anyway. */
bool delivery_rows_show(const char *column);

void delivery_rows_begin(struct buf *out, const struct delivery_rows_extra *extra);
void delivery_rows_add(struct buf *out, const struct model_delivery *delivery,
                       const struct delivery_rows_extra *extra);

#endif
