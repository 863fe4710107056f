/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COMPILED_COST_PROFILE_H
#define GASPIPE_SUPERVISOR_COUNT_COMPILED_COST_PROFILE_H

#include "base/error.h"
#include "supervisor/count/profile/count_profile.h"

/*
 * Reads what processes of a program compiled with --meter=--profile have appended to
 * GASMETER_PROFILE (meter/runtime/profile.h), all added up. 0, or -1 with ERROR_INPUT: there is no
 * profile, or it is damaged; or ERROR_SYSTEM. count_profile_free() where it is 0.
 */
int cost_profile_read(struct count_profile *profile, const char *path, struct error *error);

/* The same of a text, whose lines it ends; there may be nothing in it. */
int cost_profile_take(struct count_profile *profile, char *text, struct error *error);

#endif
