/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_RECORDING_REPLAY_RECORDING_H
#define GASPIPE_SUPERVISOR_REPLAY_RECORDING_REPLAY_RECORDING_H

#include "base/error.h"
#include "supervisor/replay/replay_options.h"

/*
 * `gaspipe replay` of a session that gaspipe-worker --record wrote: sends a fresh worker
 * each frame that the recorded one was sent, and compares what comes back: requests,
 * results, errors, computrons, memory. Prints what came of it. The exit status, or -1 with
 * the error filled.
 */
int replay_recording(const struct replay_options *options, struct error *error);

#endif
