/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_WAITS_WAITS_H
#define GASPIPE_TOOLS_COMMAND_WAITS_WAITS_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * `slogreport waits`: who waited for whom. Which deliveries ran while others were in the queue, how
 * much delay they handed on so, and, with profiles, which of their functions did.
 */
int waits_run(const struct options *options, struct error *error);

#endif
