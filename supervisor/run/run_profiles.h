/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_PROFILES_H
#define GASPIPE_SUPERVISOR_RUN_RUN_PROFILES_H

#include "base/error.h"
#include "supervisor/profile/profile_files.h"
#include "supervisor/run/run_options.h"
#include "supervisor/schedule/log/delivery_report.h"

/* Opens the files of --profile and --profile-folded. Refuses one that is an input of the run. */
int run_profiles_open(struct profile_files *profiles, const struct run_options *options,
                      struct error *error);

/* Gathers a delivery's lines, which are written when its crank is committed. */
int run_profiles_add(struct profile_files *profiles, const struct delivery_report *report,
                     struct error *error);

#endif
