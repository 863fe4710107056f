/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_HTML_PAGE_SUMS_H
#define GASPIPE_TOOLS_HTML_PAGE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "tools/stats/groups.h"
#include "tools/stats/outliers.h"

/*
 * What a page says of all deliveries, as JSON that page.js reads. Times are
 * nanoseconds.
 */

/*
 * An array of groups: {"by","name","label","columns"}, columns by their name:
 * [count, total, median, 90th, 99th of a hundred, maximum, buckets], buckets
 * being pairs of a number n and a count, of the values from
 * histogram_lowest(8 * n) on: eight to each doubling.
 */
void page_sums_append_groups(struct buf *json, const struct groups *groups);

/*
 * An array of stalls, {"kind" (of enum model_span_kind), "took", "usual",
 * "like", "start" (after `zero`), "line", "crank", "number", "size", "work"
 * (what size is of), "cpu", "vat", "text", "syscall"}.
 */
void page_sums_append_stalls(struct buf *json, struct outlier *const *stalls, size_t count,
                             int64_t zero);

#endif
