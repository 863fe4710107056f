/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_LOAD_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_LOAD_H

#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_vat.h"

/* Reads the runtime that --lockdown and --supervisor give, if they do. -1 with ERROR_INPUT or
 * ERROR_SYSTEM. */
int replay_load_runtime(struct replay_runtime *runtime, const struct replay_options *options,
                        struct error *error);

#endif
