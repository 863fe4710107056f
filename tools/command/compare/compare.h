/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COMPARE_COMPARE_H
#define GASPIPE_TOOLS_COMMAND_COMPARE_COMPARE_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * `slogreport compare A B`: the same live deliveries of two slogfiles side by
 * side. -1 with ERROR_DELIVERY, after all was printed, when some of them came
 * out differently; other errors as feed_run().
 */
int compare_run(const struct options *options, struct error *error);

#endif
