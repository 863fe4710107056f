/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COMPARE_MANY_H
#define GASPIPE_TOOLS_COMMAND_COMPARE_MANY_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * `slogreport compare` of three or more files: who is slow, and where they part.
 * ERROR_DELIVERY when they do.
 */
int compare_many_run(const struct options *options, struct error *error);

#endif
