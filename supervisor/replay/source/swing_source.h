/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_SOURCE_SWING_SOURCE_H
#define GASPIPE_SUPERVISOR_REPLAY_SOURCE_SWING_SOURCE_H

#include "supervisor/replay/source/source.h"

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
