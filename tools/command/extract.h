/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_EXTRACT_H
#define GASPIPE_TOOLS_COMMAND_EXTRACT_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * `slogreport extract`: prints the lines of the chosen deliveries, and of what is around them, as
 * a smaller slogfile.
 */
int extract_run(const struct options *options, struct error *error);

#endif
