/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_ROWS_ROWS_H
#define GASPIPE_TOOLS_COMMAND_ROWS_ROWS_H

#include "base/error.h"
#include "tools/command/options.h"

/*
 * `slogreport rows`: deliveries and requests as flat tables for databases, deliveries.csv.gz and
 * requests.csv.gz in a folder, which is made if there is none.
 */
int rows_run(const struct options *options, struct error *error);

#endif
