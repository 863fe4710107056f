/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COMPARE_COMPARE_H
#define GASPIPE_SUPERVISOR_COUNT_COMPARE_COMPARE_H

#include "base/error.h"
#include "supervisor/count/count_options.h"
#include "supervisor/process/guest.h"

/*
 * `gaspipe count --versus` and `--time`: counts each of several commands, and also times it
 * natively, in turns with the others. The commands' input is empty, and their output is dropped.
 * Reports on --output or stderr, and to --export-markdown and --export-csv. 0, or -1 with the
 * error: ERROR_DELIVERY where a command failed or its counts differ.
 */
int compare_commands(const struct count_options *options, const struct guest_tools *tools,
                     struct error *error);

#endif
