/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_GROWTH_GROWTH_FILE_H
#define GASPIPE_TOOLS_STATS_GROWTH_GROWTH_FILE_H

#include "base/json/scan.h"
#include "tools/stats/growth/growth.h"

/*
 * How a vat grew, as a JSON line, so that what was read in parts can be joined:
 * {"kind":"growth","vatID":"v1","label":"bank",
 *  "heapSlots":{"count":N,"first":N,"last":N,"least":N,"most":N},...,"collecting":SECONDS,
 *  "points":[[SECONDS,HEAP,ALLOCATED,CLIST,SNAPSHOT,COLLECTIONS,RELEASED],...]}
 * A measure of which nothing was said is not there, and null in a point.
 */

/* Appends the line of a vat. */
void growth_file_put(const struct growth *growth, size_t vat, struct buf *out);

/*
 * Joins a line to what came before, of which it is the continuation: what is counted since the
 * first line of a file is added up. -1 when it is no such line.
 */
int growth_file_take(struct growth *growth, struct scan_span line);

/* The time of the earliest point of any vat, nanoseconds since the epoch; INT64_MAX: there is
 * none. */
int64_t growth_file_begin(const struct growth *growth);

#endif
