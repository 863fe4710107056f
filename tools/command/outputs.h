/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_OUTPUTS_H
#define GASPIPE_TOOLS_COMMAND_OUTPUTS_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * Refuses, with ERROR_USAGE, outputs (options' files and standard output) that are one of
 * the files that are read, or one another.
 */
int outputs_check(const struct options *options, struct error *error);

#endif
