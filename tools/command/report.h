/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_REPORT_H
#define GASPIPE_TOOLS_COMMAND_REPORT_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * Reads the files that the options name and writes to standard output what
 * they ask for, delivery by delivery. -1 with ERROR_INPUT or ERROR_SYSTEM as
 * feed_run(), or when the report cannot be written.
 */
int report_run(const struct options *options, struct error *error);

#endif
