/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_SUMMARY_H
#define GASPIPE_TOOLS_COMMAND_SUMMARY_H

#include "base/error.h"
#include "tools/command/options.h"

/* `slogreport summary`: sums and percentiles out of slogfiles. Errors as feed_run(). */
int summary_run(const struct options *options, struct error *error);

/* `slogreport merge`: the same out of what --histograms wrote. */
int merge_run(const struct options *options, struct error *error);

#endif
