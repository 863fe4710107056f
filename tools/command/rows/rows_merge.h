/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_ROWS_ROWS_MERGE_H
#define GASPIPE_TOOLS_COMMAND_ROWS_ROWS_MERGE_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * `slogreport merge --out DIR FOLDER...`: the tables of several folders that `slogreport rows`
 * wrote as one, in their order. Deliveries are numbered through, and requests and causes follow
 * them.
 */
int rows_merge_run(const struct options *options, struct error *error);

#endif
