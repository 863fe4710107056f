/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_GROWTH_GROWTH_JOIN_H
#define GASPIPE_TOOLS_STATS_GROWTH_GROWTH_JOIN_H

#include "tools/stats/growth/growth.h"

/*
 * Appends what a vat did next, as another file tells it. Measures that are counted since a file's
 * first line go on where they were. Of the points of both, at most GROWTH_POINTS stay, spread
 * evenly over the time between the first and the last. -1 when memory ran out.
 */
int growth_join(struct growth_vat *vat, const struct growth_vat *next);

#endif
