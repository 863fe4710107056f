/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_OUTPUT_ESTIMATE_READ_H
#define GASPIPE_SUPERVISOR_ESTIMATE_OUTPUT_ESTIMATE_READ_H

#include <jansson.h>

#include "supervisor/estimate/cost.h"

/*
 * Reads a line of kind "cost" that estimate_print_json() printed. Text is borrowed from it. -1 with
 * ERROR_INPUT: it is no such line.
 */
int estimate_read_cost(struct cost *cost, const json_t *line, struct error *error);

#endif
