/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_AGAINST_H
#define GASPIPE_TOOLS_COMMAND_AGAINST_H

#include <stdbool.h>

#include "base/error.h"
#include "tools/command/options.h"

/*
 * `slogreport summary --against FILE|SELECTION`: compares two summaries. SELECTION is
 * "first-half", or options of the selection without "--" and with commas between:
 * "crank=-125,vat=bank". They replace those of the command line, and the deliveries that they take
 * are compared with the other selected ones.
 */

/* True if the value is a selection and no file. */
bool against_is_selection(const char *value);

/* Errors as feed_run(), and ERROR_USAGE for a selection that is wrong. */
int against_run(const struct options *options, struct error *error);

#endif
