/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COUNT_OUTPUTS_H
#define GASPIPE_SUPERVISOR_COUNT_COUNT_OUTPUTS_H

#include "base/error.h"
#include "base/profile/profile.h"
#include "supervisor/count/count_options.h"

/*
 * Refuses, with ERROR_USAGE, files to write (--output, --profile, --profile-json,
 * --profile-callgrind) that are the program, one of its arguments, its standard input, the gas
 * model, or one another. A program that cannot be found is ERROR_INPUT.
 */
int count_outputs_check(const struct count_options *options, struct error *error);

/* Writes the result to --output, or to stderr without it. 0, or -1 with the error. */
int count_outputs_write(const struct count_options *options, struct buf *result,
                        struct error *error);

/* The same for the profile, in each wanted format. */
int count_outputs_write_profile(const struct count_options *options, const struct profile *profile,
                                struct error *error);

/* Returns true if any format of the profile is wanted. */
bool count_outputs_want_profile(const struct count_options *options);

#endif
