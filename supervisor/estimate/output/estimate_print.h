/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_OUTPUT_ESTIMATE_PRINT_H
#define GASPIPE_SUPERVISOR_ESTIMATE_OUTPUT_ESTIMATE_PRINT_H

#include "supervisor/estimate/output/record.h"

/* A table of the costs for people, in their order. Failure stays in *out. */
void estimate_print_table(struct buf *out, const struct estimate *estimate);

/* The same as JSON: {"kind":"cost",...} for each, then {"kind":"summary",...}. */
void estimate_print_json(struct buf *out, const struct estimate *estimate);

/* The ratio of what is charged to what it should be, in words; "" where it is not known. */
void estimate_print_ratio(struct buf *out, double ratio);

/* The warnings in words, separated by commas. */
void estimate_print_warnings(struct buf *out, unsigned warnings);

#endif
