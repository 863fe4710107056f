/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_PROFILES_H
#define GASPIPE_SUPERVISOR_RUN_RUN_PROFILES_H

#include "supervisor/profile/native_session.h"
#include "supervisor/profile/profile_files.h"
#include "supervisor/run/run_options.h"
#include "supervisor/schedule/log/delivery_report.h"

/* The profiles that a run writes. All zeros: none. */
struct run_profiles {
    struct profile_files files;    /* by function and line of contracts */
    struct native_session *native; /* by native function; NULL: not asked for */
};

/*
 * Creates the files that the options ask for, and has the launcher's workers profiled. -1 with
 * ERROR_SYSTEM, or with ERROR_USAGE where one of them is the deliveries file or a contract;
 * run_profiles_close() in any case.
 */
int run_profiles_open(struct run_profiles *profiles, const struct run_options *options,
                      struct launcher *launcher, struct error *error);

/* As the functions of profile_files.h, for all files. */
int run_profiles_add(struct run_profiles *profiles, const struct delivery_report *report,
                     struct error *error);
void run_profiles_keep(struct run_profiles *profiles);
void run_profiles_undo(struct run_profiles *profiles);
int run_profiles_flush(struct run_profiles *profiles, struct error *error);
void run_profiles_drop(struct run_profiles *profiles);

/* When all workers have ended. */
int run_profiles_close(struct run_profiles *profiles, struct error *error);

#endif
