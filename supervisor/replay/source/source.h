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

/* ---- files of lines ---- */

/* Whether a file's name is transcript.VATID.FIRST.END, of a span, or transcript-VATID.sst, of a
 * vat; the vat's ID is borrowed from the path. */
bool line_source_read_name(const char *path, struct scan_span *vat_id, int64_t *first,
                           int64_t *end);

/*
 * Files of lines, compressed or not: slogfiles of ours or of SwingSet's, and transcripts. A
 * transcript has an entry a line (supervisor/transcript/recorded_delivery.h), for deliveries
 * and for what SwingSet notes between them. Its vat and the number of its first delivery (else
 * 0) are in a create-vat line before the entries, or in the file's name, as swing-store gives
 * it to transcripts that it exports: transcript.VATID.FIRST.END; or as Agoric's tools name what
 * they extract: transcript-VATID.sst. Only one delivery is kept in memory.
 *
 * The files are read one after the other, as one. "-" is stdin. NULL with ERROR_INPUT or
 * ERROR_SYSTEM. The paths are borrowed.
 */
struct replay_source *line_source_open(char *const *paths, size_t count, struct error *error);

/* ---- a directory of archived transcripts ---- */

/*
 * A folder of archived transcripts, as a chain's vat-transcript-archive-dir: each file, compressed
 * or not, is a span of a vat and called transcript.VATID.FIRST.END; or all of a vat,
 * transcript-VATID.sst.
 */

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

/* Whether it is a folder, other than one that is or holds a swing-store. */
bool archive_directory_is_one(const char *path);

/*
 * Adds the files of the selection, whose vats have to be given by ID. -1 with ERROR_INPUT (there
 * is no transcript in the folder, or none of the selection) or ERROR_SYSTEM. archive_files_free()
 * in any case.
 */
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
struct replay_source *store_source_open(const char *folder, const char *vat, bool from_start,
                                        struct error *error);

/*
 * Writes the vat's transcript, all of it, as lines that line_source_open() takes: a create-vat
 * line with the bundle, then an entry for each delivery. `path` is a file, or "-": stdout.
 */
int store_source_export(const char *folder, const char *vat, const char *path, struct error *error);

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
    int64_t start, end;    /* positions: its first item's, and behind its last one */
    int64_t incarnation;   /* from 0 */
    bool is_current;       /* it still grows */
    int64_t items;         /* that are kept; fewer than end - start where they were pruned */
    char *snapshot;        /* that it begins with, its SHA-256; owned; NULL: with a bundle */
    int64_t snapshot_size; /* compressed bytes that are kept; 0: it is not */
};

/* Of the selection, by vat and position. */
struct swing_spans {
    struct swing_span *spans; /* owned */
    size_t count, capacity;
};

/* Whether the file, or the folder that it is in, is a swing-store; false too when unreadable. */
bool swing_source_is_one(const char *path);

/* NULL with ERROR_INPUT or ERROR_SYSTEM. `path` is borrowed; so is the selection. */
struct replay_source *swing_source_open(const char *path, const struct source_selection *selection,
                                        struct error *error);

/* Of a source that swing_source_open() gave; borrowed. */
const struct swing_spans *swing_source_spans(const struct replay_source *source);

/* Calls each() for every bundle that the store has. -1 with ERROR_INPUT. */
int swing_source_bundles(struct replay_source *source,
                         void (*each)(void *context, const char *id, int64_t size), void *context,
                         struct error *error);

#endif
