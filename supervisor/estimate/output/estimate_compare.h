/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_OUTPUT_ESTIMATE_COMPARE_H
#define GASPIPE_SUPERVISOR_ESTIMATE_OUTPUT_ESTIMATE_COMPARE_H

#include "supervisor/estimate/output/record.h"

/*
 * Appends which costs moved by more than `allow` percent since the record, up or down, or are gone,
 * a line for each; as JSON {"kind":"moved",...}. How many; a new cost is told, but did not move.
 * `only`: the pattern of --only, which leaves out costs that are not gone; NULL: none.
 */
size_t estimate_compare(const struct estimate *estimate, const json_t *record, const char *only,
                        double allow, bool json, struct buf *out);

#endif
