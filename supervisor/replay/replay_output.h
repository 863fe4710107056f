/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_OUTPUT_H
#define GASPIPE_SUPERVISOR_REPLAY_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "supervisor/replay/replay_vat.h"

/* What gaspipe replay prints on stdout. 0, or -1 with ERROR_SYSTEM. */

/*
 * The vats as they stand at the end, a line for each and a sum, and before
 * these what differs, both sides. `file` is how messages name the transcript.
 */
int replay_output(struct replay_vat *const *vats, size_t count, const char *file, bool json,
                  struct error *error);

#endif
