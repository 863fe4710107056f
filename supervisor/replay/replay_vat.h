/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_VAT_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_VAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/replay/replay_bundle.h"

#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_result.h"
#include "supervisor/replay/replay_worker.h"
#include "supervisor/replay/source/source.h"
#include "supervisor/runtime/runtime_snapshot.h"

/* One replayed vat: its worker gets the recorded deliveries, and its syscalls and results are
 * compared with the record. This file handles the events between deliveries. */

/* The SwingSet runtime that is loaded, and what workers start from. */
struct replay_runtime {
    struct vat_runtimes runtimes;
    struct runtime_snapshots warm;
    struct buf ids; /* of recorded bundles that it is made of, JSON; empty: it is not */
    bool is_given;  /* by the user, for all vats */
};

/* Shared by all vats of a replay; borrowed. */
struct replay_context {
    struct replay_host host; /* of their workers */
    struct replay_source *source;
    struct replay_runtime *runtime;
    const char *snapshots;         /* directory with more of them; NULL: none */
    struct replay_bundles bundles; /* that the source names and does not hold */
    struct compare_rules rules;
    struct replay_notes *notes;
    struct replay_probes *probes; /* NULL: none */
};

/* The progress of a vat's replay. */
enum replay_state {
    REPLAY_FRESH,  /* the next delivery starts its worker, without a snapshot */
    REPLAY_STORED, /* the next delivery starts its worker, from the snapshot */
    REPLAY_LIVE,   /* its worker waits for a delivery */
    REPLAY_PASSED, /* past deliveries that were not selected, until its worker starts again */
    REPLAY_LOST,   /* the next delivery would start its worker from a snapshot that is not there */
    REPLAY_OVER,   /* nothing more is delivered to it */
};

struct replay_vat {
    const struct replay_context *context;
    struct replay_vat *against;     /* the same vat in a second worker; owned; NULL: none */
    struct recorded_delivery *made; /* what its worker did last is kept there; NULL: nowhere */
    enum replay_state state;
    struct replay_result result;
    struct replay_bundle bundle;
    char missing[REPLAY_WHY_SIZE]; /* why it has no bundle; "": the source has none of it */
    struct replay_worker worker;
    json_t *known_reads;      /* of delivery_compare.c */
    int snapshot_fd;          /* of the last snapshot; -1 if it has none */
    struct buf snapshot_hash; /* its SHA-256, as recorded */
};

/* NULL when memory ran out. */
struct replay_vat *replay_vat_new(struct scan_span id, const struct replay_context *context,
                                  struct error *error);

/* A delivery was not selected: its worker ends, since no snapshot or delivery that follows is of
 * what it has. */
void replay_vat_pass(struct replay_vat *vat);

/* Ends its worker: nothing more is delivered to it. */
void replay_vat_close(struct replay_vat *vat);

/* Closes and frees. NULL is allowed. */
void replay_vat_free(struct replay_vat *vat);

/* Takes an event other than a delivery. -1 with ERROR_INPUT or ERROR_SYSTEM. */
int replay_vat_take(struct replay_vat *vat, const struct source_event *event, struct error *error);

/* Its result is a difference, which was noted in it, and its worker ends. -1: memory ran out. */
int replay_vat_differ(struct replay_vat *vat, struct error *error);

/* Its names and bundle, as its worker wants them; borrowed. */
struct replay_owner replay_vat_owner(const struct replay_vat *vat);

/* The snapshot that the recorded worker was started from is not there. Returns 0. */
int replay_vat_lose(struct replay_vat *vat);

/* The recorded worker was restarted without a snapshot. */
void replay_vat_start_afresh(struct replay_vat *vat);

/* Uses the bundle of the noted upgrade. If it is missing, the vat is skipped. -1 with ERROR_INPUT
 * or ERROR_SYSTEM. */
int replay_vat_upgrade(struct replay_vat *vat, struct error *error);

/* Skips the rest of the vat for this reason. Returns 0. */
int replay_vat_skip(struct replay_vat *vat, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads the runtime that --lockdown and --supervisor give, if they do. -1 with ERROR_INPUT or
 * ERROR_SYSTEM. */
int replay_load_runtime(struct replay_runtime *runtime, const struct replay_options *options,
                        struct error *error);

#endif
