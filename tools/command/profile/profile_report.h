/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_PROFILE_PROFILE_REPORT_H
#define GASPIPE_TOOLS_COMMAND_PROFILE_PROFILE_REPORT_H

#include "base/error.h"
#include "tools/command/options.h"

/* `slogreport profile`: sums of profiles of gaspipe run and replay, and their difference. */
int profile_report_run(const struct options *options, struct error *error);

#endif
