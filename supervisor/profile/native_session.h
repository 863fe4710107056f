/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_NATIVE_SESSION_H
#define GASPIPE_SUPERVISOR_PROFILE_NATIVE_SESSION_H

#include <stdint.h>

#include "base/error.h"
#include "supervisor/process/launcher.h"
#include "supervisor/profile/profile_files.h"

/*
 * Profiles of deliveries by native function, of all counted or metered workers of a command, and
 * the files that they are written to.
 */
struct native_session;

/* Who sees the functions, and what it counts. */
enum native_unit {
    NATIVE_INSTRUCTIONS, /* QEMU's counter */
    NATIVE_BLOCK_COST,   /* the meter compiled into the worker */
};

/* Creates the files anew. NULL with ERROR_SYSTEM. */
struct native_session *native_session_open(struct profile_paths paths, enum native_unit unit,
                                           struct error *error);

/* For launchers; borrowed from the session. */
const struct launcher_trace *native_session_launcher(struct native_session *session);

/* The files, for what is to be kept, undone and flushed of them. */
struct profile_files *native_session_files(struct native_session *session);

/*
 * Gathers the lines of a delivery that its worker began and ended at these moments (nanoseconds of
 * CLOCK_MONOTONIC, of its first and last stamp). A delivery whose region never ended, because a
 * limit ended its worker, has no profile: that is logged; one whose unit is not known has none
 * either. -1 with ERROR_INPUT for what no counter or meter writes, or ERROR_SYSTEM.
 */
int native_session_add(struct native_session *session, const struct profiled_delivery *delivery,
                       int64_t began, int64_t ended, struct error *error);

/* Flushes and closes the files. NULL is allowed. */
int native_session_close(struct native_session *session, struct error *error);

#endif
