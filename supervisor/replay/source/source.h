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

/* A source of recorded deliveries: events in the order in which they happened to each vat. */

enum source_event_kind {
    SOURCE_SESSION,         /* another process begins to write; `fingerprint` is its own */
    SOURCE_CREATE,          /* a vat, or another bundle for it */
    SOURCE_UPGRADE,         /* the vat's next startVat that is no replay is for `bundle_id` */
    SOURCE_START,           /* its worker was restarted without a snapshot */
    SOURCE_SNAPSHOT_SAVED,  /* of its worker, which was not restarted by this */
    SOURCE_SNAPSHOT_LOADED, /* its worker was restarted from the snapshot `hash` */
    SOURCE_DELIVERY,
    SOURCE_TERMINATE, /* nothing more is delivered to the vat */
};

/* Spans are borrowed until the next event. Strings are without quotes, escapes as they are. */
struct source_event {
    enum source_event_kind kind;
    uint64_t line; /* of the file, or the place in the transcript, for messages */
    struct scan_span vat_id;
    int64_t delivery_num; /* RECORDED_NONE if not known */
    int64_t crank_num;    /* of SOURCE_DELIVERY in a slogfile; else RECORDED_NONE */

    struct scan_span name;         /* of SOURCE_CREATE; none: not said */
    struct scan_span manager_type; /* of SOURCE_CREATE */
    struct scan_span bundle;       /* of SOURCE_CREATE, JSON; none: not there */
    struct scan_span bundle_id;    /* and of SOURCE_START and SOURCE_UPGRADE; none: not said */
    struct scan_span runtime_ids;  /* of SOURCE_START, JSON: ["b0-LOCKDOWN","b0-SUPERVISOR"] */
    struct scan_span hash;         /* of snapshots */
    struct scan_span fingerprint;  /* of SOURCE_SESSION; none: it counted no instructions */

    /* SOURCE_DELIVERY: */
    const struct recorded_delivery *delivery;
    bool replay;       /* it brought a worker back */
    uint64_t disorder; /* the line that cannot follow those before; 0: none */
};

struct replay_source;

/* The functions of a kind of source. */
struct source_operations {
    /*
     * 1 with the next event, 0 at the end, -1 with ERROR_INPUT (file and line named) or
     * ERROR_SYSTEM.
     */
    int (*next)(struct replay_source *source, struct source_event *event, struct error *error);

    /* Writes the snapshot of a SOURCE_SNAPSHOT_LOADED to `fd`, from its position; *found is false
     * if the source has no copy. -1 with ERROR_INPUT or ERROR_SYSTEM. NULL: it keeps no snapshots.
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

/* Returns true if the event's vat is selected; only SOURCE_CREATE has names. */
bool source_event_is_wanted(const struct source_event *event,
                            const struct source_selection *selection);

/* Fills in what kind of event an entry of a transcript is. It is borrowed. */
void source_event_of_entry(struct source_event *event, const struct recorded_delivery *recorded);

/* The selected deliveries of a source. Strings are borrowed. */
struct source_selection {
    char *const *vats; /* IDs or names; none: all */
    size_t vat_count;
    int64_t span;     /* only the one that begins at this position; -1: all */
    int64_t from, to; /* numbers of deliveries; whole spans as far as `from` needs them */
};

/* Appends the JSON of a bundle as swing-store keeps it: of a "b1-" bundle the archive, of others
 * the JSON itself. -1 with ERROR_SYSTEM. */
int stored_bundle_put(struct scan_span id, const struct buf *kept, struct buf *bundle,
                      struct error *error);

/* The same for a file that swing-store has exported, bundle.ID, next to the file of that path.
 * *found is false if it is missing. -1 with ERROR_INPUT or ERROR_SYSTEM. */
int stored_bundle_read(const char *path, struct scan_span id, struct buf *bundle, bool *found,
                       struct error *error);

/* The same out of memory; `name` is how messages call it. */
int snapshot_bytes_copy(const char *name, const void *bytes, size_t length, struct scan_span hash,
                        int fd, struct error *error);

/* The same out of an open file, from its start. */
int snapshot_descriptor_copy(const char *name, int packed, struct scan_span hash, int fd,
                             struct error *error);

/* The same for the snapshot of a SOURCE_SNAPSHOT_LOADED, from a directory such as Agoric's
 * vat-snapshot-archive-dir: snapshot.VATID.POSITION, or HASH, each with .gz, .zst or no suffix.
 * *found is false if it is missing. */
int snapshot_archive_copy(const char *directory, const struct source_event *event, int fd,
                          bool *found, struct error *error);

/* ---- files of lines ---- */

/* Files of lines, compressed or not, read one after the other: slogfiles and transcripts. A
 * transcript has an entry a line (supervisor/transcript/recorded_delivery.h). Its vat and the
 * number of its first delivery (else 0) are in a create-vat line, or in the file's name:
 * transcript.VATID.FIRST.END, or transcript-VATID.sst. One delivery is in memory at a time. "-" is
 * stdin. NULL with ERROR_INPUT or ERROR_SYSTEM. The paths are borrowed. */
struct replay_source *line_source_open(char *const *paths, size_t count, struct error *error);

/* ---- a directory of archived transcripts ---- */

/* A directory of archived transcripts, such as a chain's vat-transcript-archive-dir: each file,
 * compressed or not, is a vat's span, transcript.VATID.FIRST.END, or a whole vat,
 * transcript-VATID.sst. */

struct archive_file {
    char *path;   /* owned */
    char *vat_id; /* owned */
    int64_t first, end;
    int64_t size; /* bytes of the file */
};

/* By vat and position. All zeros: none. */
struct archive_files {
    struct archive_file *files; /* owned */
    size_t count, capacity;
};

/* Returns true for a directory that neither is nor holds a swing-store. */
bool archive_directory_is_one(const char *path);

/* Adds the selected files; vats must be selected by ID. -1 with ERROR_INPUT (the directory has no
 * transcript, or none is selected) or ERROR_SYSTEM. archive_files_free() in any case. */
int archive_directory_read(struct archive_files *files, const char *path,
                           const struct source_selection *selection, struct error *error);

void archive_files_free(struct archive_files *files);

/* ---- a store of gaspipe ---- */

/*
 * The transcript of a vat's present incarnation in a store of gaspipe run, which is only looked
 * at, as it was last committed. The vat is given by its ID or its name. It begins with the last
 * snapshot, if there is one, or, `from_start`, with the incarnation. Lines are those that
 * store_source_export() writes.
 *
 * NULL with ERROR_INPUT (no such store or vat, nothing recorded) or ERROR_SYSTEM.
 */
struct replay_source *store_source_open(const char *directory, const char *vat, bool from_start,
                                        struct error *error);

/*
 * Writes the vat's transcript, all of it, as lines that line_source_open() takes: a create-vat
 * line with the bundle, then an entry for each delivery. `path` is a file, or "-": stdout.
 */
int store_source_export(const char *directory, const char *vat, const char *path,
                        struct error *error);

/* ---- a swing-store ---- */

/*
 * Agoric's swing-store (npm @agoric/swing-store 0.10.0): the file swingstore.sqlite with the
 * spans of vats' transcripts, snapshots and bundles. It is only read, a row at a time, also
 * while a node is writing it. A delivery's number is its position in the vat's transcript.
 */

/* A span of a vat's transcript, from one start of its worker to the next. */
struct swing_span {
    char *vat_id;          /* owned */
    char *name;            /* of the vat; owned; NULL: it has none, or is terminated */
    bool is_local;         /* it runs in the kernel's process */
    int64_t start, end;    /* positions of its first item, and after its last one */
    int64_t incarnation;   /* from 0 */
    bool is_current;       /* it still grows */
    int64_t items;         /* that are kept; fewer than end - start where they were pruned */
    char *snapshot;        /* that it begins with, its SHA-256; owned; NULL: with a bundle */
    int64_t snapshot_size; /* compressed bytes that are kept; 0: it is not */
};

/* The selected spans, by vat and position. */
struct swing_spans {
    struct swing_span *spans; /* owned */
    size_t count, capacity;
};

/* Returns true if the file, or the directory that it is in, is a readable swing-store. */
bool swing_source_is_one(const char *path);

/* NULL with ERROR_INPUT or ERROR_SYSTEM. `path` is borrowed; so is the selection. */
struct replay_source *swing_source_open(const char *path, const struct source_selection *selection,
                                        struct error *error);

/* For a source from swing_source_open(); borrowed. */
const struct swing_spans *swing_source_spans(const struct replay_source *source);

/* Calls each() for every bundle that the store has. -1 with ERROR_INPUT. */
int swing_source_bundles(struct replay_source *source,
                         void (*each)(void *context, const char *id, int64_t size), void *context,
                         struct error *error);

#endif
