/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_RUNS_H
#define GASPIPE_TOOLS_COMMAND_RUNS_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * `slogreport runs`: all that one thing from outside caused, with its sums and the way to what
 * ended last: which deliveries, each caused by the one before it, and how long each waited.
 */
int runs_run(const struct options *options, struct error *error);

#endif
