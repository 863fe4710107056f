/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_SOURCE_SOURCE_H
#define GASPIPE_SUPERVISOR_REPLAY_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json/scan.h"
#include "supervisor/transcript/recorded_delivery.h"

/*
 * Where a replay's deliveries come from, whatever keeps them: what vats were sent and what
 * they asked, event by event, in the order in which it happened to each vat.
 */

enum source_event_kind {
    SOURCE_SESSION,         /* another process begins to write; `fingerprint` is its own */
    SOURCE_CREATE,          /* a vat, or another bundle for it */
    SOURCE_UPGRADE,         /* the vat's next startVat that is no replay is for `bundle_id` */
    SOURCE_START,           /* its worker was started anew, to be sent what follows */
    SOURCE_SNAPSHOT_SAVED,  /* of its worker, which was not restarted by this */
    SOURCE_SNAPSHOT_LOADED, /* its worker was started anew, from the snapshot `hash` */
    SOURCE_DELIVERY,
    SOURCE_TERMINATE, /* nothing more is delivered to the vat */
};

/* Spans are borrowed until the next event. Strings are without quotes, escapes as they are. */
struct source_event {
    enum source_event_kind kind;
    uint64_t line; /* of the file, or the place in the transcript, for messages */
    struct scan_span vat_id;
    int64_t delivery_num; /* RECORDED_NONE where there is none */
    int64_t crank_num;    /* of SOURCE_DELIVERY in a slogfile; else RECORDED_NONE */

    struct scan_span name;         /* of SOURCE_CREATE; none: not said */
    struct scan_span manager_type; /* of SOURCE_CREATE */
    struct scan_span bundle;       /* of SOURCE_CREATE, JSON; none: not there */
    struct scan_span bundle_id;    /* and of SOURCE_START and SOURCE_UPGRADE; none: not said */
    struct scan_span runtime_ids;  /* of SOURCE_START, JSON: ["b0-LOCKDOWN","b0-SUPERVISOR"] */
    struct scan_span hash;         /* of snapshots */
    struct scan_span fingerprint;  /* of SOURCE_SESSION; none: it counted no instructions */

    /* Of SOURCE_DELIVERY. */
    const struct recorded_delivery *delivery;
    bool replay;       /* it brought a worker back */
    uint64_t disorder; /* the line that cannot follow those before; 0: none */
};

struct replay_source;

/* What each kind of source does. */
struct source_operations {
    /*
     * 1 with the next event, 0 at the end, -1 with ERROR_INPUT (file and line named) or
     * ERROR_SYSTEM.
     */
    int (*next)(struct replay_source *source, struct source_event *event, struct error *error);

    /*
     * Writes the snapshot that a SOURCE_SNAPSHOT_LOADED tells of to `fd`, from its place on;
     * *found is false when the source does not keep it. -1 with ERROR_INPUT or ERROR_SYSTEM.
     * NULL: it keeps none.
     */
    int (*read_snapshot)(struct replay_source *source, const struct source_event *event, int fd,
                         bool *found, struct error *error);

    /* Appends the JSON of the bundle of this ID likewise. NULL: it keeps none. */
    int (*read_bundle)(struct replay_source *source, struct scan_span id, struct buf *bundle,
                       bool *found, struct error *error);
    void (*close)(struct replay_source *source);
};

/* The head of each source. */
struct replay_source {
    const struct source_operations *operations;
    const char *name; /* of what is read now, for messages */
    bool torn;        /* it ended in the midst of a line or of compressed data */
};

struct source_selection;

/* Whether the event is of a vat that is wanted: names are told by SOURCE_CREATE only. */
bool source_event_is_wanted(const struct source_event *event,
                            const struct source_selection *selection);

/* Fills in what kind of event an entry of a transcript is. It is borrowed. */
void source_event_of_entry(struct source_event *event, const struct recorded_delivery *recorded);

#endif
