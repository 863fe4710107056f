/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_OUTPUT_REPLAY_OUTPUT_H
#define GASPIPE_SUPERVISOR_REPLAY_OUTPUT_REPLAY_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "supervisor/replay/output/replay_result.h"

/*
 * Prints on stdout what gaspipe replay found: where vats differ, both sides; a line for each
 * vat; a sum. 0, or -1 with ERROR_SYSTEM.
 */
int replay_output(struct replay_result *const *results, size_t count, bool json,
                  struct error *error);

/* As JSON lines for replay_children.h: each difference just before its vat, and no sum. */
int replay_output_part(struct replay_result *const *results, size_t count, struct error *error);

#endif
