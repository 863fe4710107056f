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

/* The counter of functions, and its unit. */
enum native_unit {
    NATIVE_INSTRUCTIONS, /* QEMU's counter */
    NATIVE_BLOCK_COST,   /* the meter compiled into the worker */
};

/* Creates the files, over old ones. NULL with ERROR_SYSTEM. */
struct native_session *native_session_open(struct profile_paths paths, enum native_unit unit,
                                           struct error *error);

/* For launchers; borrowed from the session. */
const struct launcher_trace *native_session_launcher(struct native_session *session);

/* The files, to keep, undo and flush their lines. */
struct profile_files *native_session_files(struct native_session *session);

/*
 * Gathers the lines of a delivery. `began` and `ended` are its first and last stamp in the worker,
 * in nanoseconds of CLOCK_MONOTONIC. A delivery has no profile if its unit is unknown, or if a
 * limit ended its worker within the region, which is logged. -1 with ERROR_INPUT for an invalid
 * profile, or ERROR_SYSTEM.
 */
int native_session_add(struct native_session *session, const struct profiled_delivery *delivery,
                       int64_t began, int64_t ended, struct error *error);

/* Flushes and closes the files. NULL is allowed. */
int native_session_close(struct native_session *session, struct error *error);

#endif
