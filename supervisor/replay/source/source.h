/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_SOURCE_SOURCE_H
#define GASPIPE_SUPERVISOR_REPLAY_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
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

/* Which deliveries of a source are wanted. Strings are borrowed. */
struct source_selection {
    char *const *vats; /* IDs or names; none: all */
    size_t vat_count;
    int64_t span;     /* only the one that begins at this position; -1: all */
    int64_t from, to; /* numbers of deliveries; whole spans as far as `from` needs them */
};

/* Appends the JSON of a bundle as swing-store keeps it: of a "b1-" bundle the archive, of others
 * the JSON itself. -1 with ERROR_SYSTEM. */
int kept_bundle_put(struct scan_span id, const struct buf *kept, struct buf *bundle,
                    struct error *error);

/* The same out of a file that swing-store has exported, bundle.ID, beside the file of that path.
 * *found is false when it is not there. -1 with ERROR_INPUT or ERROR_SYSTEM. */
int kept_bundle_read(const char *path, struct scan_span id, struct buf *bundle, bool *found,
                     struct error *error);

/*
 * Copies a snapshot to `fd`, from its place on, out of a file that may be compressed (gzip or
 * Zstandard). -1 with ERROR_INPUT when its bytes do not have that SHA-256, in hexadecimal
 * digits, or ERROR_SYSTEM.
 */
int snapshot_file_copy(const char *path, struct scan_span hash, int fd, struct error *error);

/* The same out of memory; `name` is how messages call it. */
int snapshot_bytes_copy(const char *name, const void *bytes, size_t length, struct scan_span hash,
                        int fd, struct error *error);

/* The same out of an open file, from its start. */
int snapshot_descriptor_copy(const char *name, int packed, struct scan_span hash, int fd,
                             struct error *error);

/*
 * The one that a SOURCE_SNAPSHOT_LOADED tells of, out of a folder of archived snapshots, as
 * Agoric's vat-snapshot-archive-dir: snapshot.VATID.POSITION, or HASH, each with .gz, .zst or
 * nothing behind it. *found is false when it is not there.
 */
int snapshot_archive_copy(const char *folder, const struct source_event *event, int fd, bool *found,
                          struct error *error);

#endif
