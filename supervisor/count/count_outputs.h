/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_OUTPUTS_H
#define GASPIPE_SUPERVISOR_COUNT_OUTPUTS_H

#include "base/error.h"
#include "supervisor/count/count_options.h"

/*
 * Refuses, with ERROR_USAGE, files to write (--output, --profile, --profile-json) that are
 * the program, one of its arguments, its standard input, the gas model, or one another.
 * A program that cannot be found is ERROR_INPUT.
 */
int count_outputs_check(const struct count_options *options, struct error *error);

#endif
