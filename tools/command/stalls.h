/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_STALLS_H
#define GASPIPE_TOOLS_COMMAND_STALLS_H

#include "base/error.h"
#include "tools/command/options.h"

/* `slogreport stalls`: the spans that took far longer than their like. Errors as feed_run(). */
int stalls_run(const struct options *options, struct error *error);

#endif
