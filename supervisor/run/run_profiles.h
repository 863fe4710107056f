/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_PROFILES_H
#define GASPIPE_SUPERVISOR_RUN_RUN_PROFILES_H

#include "base/error.h"
#include "supervisor/profile/profile_file.h"
#include "supervisor/run/run_options.h"
#include "supervisor/schedule/log/delivery_report.h"

/* The files of --profile and --profile-folded. They get a delivery's lines when its crank is
 * committed. All zeros: there are none. */
struct run_profiles {
    struct profile_file files[2];
    size_t count;
};

/* Refuses a file that is an input of the run. */
int run_profiles_open(struct run_profiles *profiles, const struct run_options *options,
                      struct error *error);

/* A delivery without a profile, such as one whose worker died, adds nothing. */
int run_profiles_add(struct run_profiles *profiles, const struct delivery_report *report,
                     struct error *error);

int run_profiles_flush(struct run_profiles *profiles, struct error *error);
void run_profiles_drop(struct run_profiles *profiles);
int run_profiles_close(struct run_profiles *profiles, struct error *error);

#endif
