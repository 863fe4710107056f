/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_MEDIAN_H
#define GASPIPE_TOOLS_STATS_MEDIAN_H

#include <stddef.h>

/* The median of one number or more, which it sorts; of an even count, the mean of the middle two.
 */
double median(double *values, size_t count);

#endif
