/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_PROBES_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_PROBES_H

#include "proto/meter.h"
#include "supervisor/profile/native_session.h"
#include "supervisor/profile/profile_files.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_result.h"
#include "supervisor/replay/source/source.h"
#include "supervisor/trace/trace_session.h"

/*
 * What is recorded of replayed deliveries: profiles by function and line, and which functions
 * the workers execute. All zeros: nothing is.
 */
struct replay_probes {
    struct profile_files profiles;
    struct native_session *native; /* NULL: no profiles by native function */
    struct trace_session *trace;   /* NULL: functions are not traced */
    struct buf method;             /* of the delivery in hand */
};

/*
 * Creates the files that the options ask for, and has the launcher's workers take profiles and be
 * traced. -1 with ERROR_USAGE for a file that is also a source, or ERROR_SYSTEM;
 * replay_probes_close() in any case.
 */
int replay_probes_open(struct replay_probes *probes, const struct replay_options *options,
                       struct launch_config *launcher, struct error *error);

/* Writes what a delivery's meter says. -1 with ERROR_INPUT or ERROR_SYSTEM. */
int replay_probes_note(struct replay_probes *probes, const struct replay_result *vat,
                       const struct source_event *event, const struct meter *meter,
                       struct error *error);

/* When all workers have ended. */
int replay_probes_close(struct replay_probes *probes, struct error *error);

#endif
