/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_H

#include "supervisor/replay/replay_options.h"

/* `gaspipe replay`; argv[0] is "replay". Returns the exit status. */
int replay_command(int argc, char **argv);

/*
 * `gaspipe replay --list`: prints the vats of the source, their spans from one start of a worker
 * to the next, what each span begins with, and what of that is missing. -1 with ERROR_INPUT or
 * ERROR_SYSTEM.
 */
int replay_list(const struct replay_options *options, struct error *error);

#endif
