/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_DELIVERY_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_DELIVERY_H

#include "proto/meter.h"
#include "supervisor/profile/native_session.h"
#include "supervisor/profile/profile_files.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_result.h"
#include "supervisor/replay/replay_vat.h"
#include "supervisor/replay/source/source.h"
#include "supervisor/trace/trace_session.h"

/*
 * A second worker (--against) that is sent what the first one is. What the first one did is the
 * record that the second is compared with, so a difference is between the two, also where both
 * part from what was recorded in a way that is tolerated.
 */
struct replay_against {
    struct launch_config launcher;
    struct replay_runtime runtime;
    struct replay_notes notes;
    struct replay_context context;
    bool is_open;
};

/*
 * Opens the worker of the options, for vats of `first`, which is borrowed with all that it has and
 * complete. Nothing happens where the options ask for none. -1 with ERROR_SYSTEM or ERROR_INPUT.
 * replay_against_close() in any case.
 */
int replay_against_open(struct replay_against *against, const struct replay_options *options,
                        const struct replay_context *first, struct error *error);

/* The vat gets a second worker, if there is to be one. -1 when memory ran out. */
int replay_against_join(struct replay_against *against, struct replay_vat *vat,
                        struct error *error);

/* As replay_vat_take(), replay_vat_pass() and replay_delivery(), for the vat's worker and then its
 * second one. */
int replay_against_take(struct replay_vat *vat, const struct source_event *event,
                        struct error *error);
void replay_against_pass(struct replay_vat *vat);
int replay_against_deliver(struct replay_vat *vat, const struct source_event *event,
                           struct error *error);

void replay_against_close(struct replay_against *against);

/* ---- what is measured of deliveries ---- */

/* Profiles by function and line, and traces of functions, of replayed deliveries. All zeros: none.
 */
struct replay_probes {
    struct profile_files profiles;
    struct native_session *native; /* NULL: no profiles by native function */
    struct trace_session *trace;   /* NULL: functions are not traced */
    struct buf method;             /* of the delivery in progress */
};

/*
 * Creates the files that the options ask for, and has the launcher's workers take profiles and be
 * traced. -1 with ERROR_USAGE for a file that is also a source, or ERROR_SYSTEM;
 * replay_probes_close() in any case.
 */
int replay_probes_open(struct replay_probes *probes, const struct replay_options *options,
                       struct launch_config *launcher, struct error *error);

/* When all workers have ended. */
int replay_probes_close(struct replay_probes *probes, struct error *error);

#endif
