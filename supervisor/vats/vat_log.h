/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_LOG_H
#define GASPIPE_SUPERVISOR_VATS_VAT_LOG_H

#include <stdbool.h>

#include "base/json/scan.h"
#include "slog/write/writer.h"
#include "store/store.h"
#include "supervisor/vats/vat_frame.h"

/*
 * The lines that a vat's own life has in the slog: its creation, its worker's start, snapshots,
 * and deliveries that are replayed. Each function does nothing where no slog is written, and
 * is 0, or -1 with the error.
 */
enum { VAT_ID_SIZE = 24 };

struct vat_log {
    struct slog_writer *slog;     /* borrowed; NULL: none is written */
    struct slog_writer *deferred; /* takes the lines for the time being, owned; or NULL */
    bool quiet;                   /* nothing is written for the time being */
    bool created;                 /* the slog has the vat's bundle */
    char vat_id[VAT_ID_SIZE];     /* "v1" */
    struct stamp starting;        /* when its worker's start began */
    struct stamp replaying;       /* when its replay began */
};

/* The lines of a snapshot whose hash is not known yet, and where they go. */
struct vat_pending_line {
    struct slog_writer *slog; /* borrowed; NULL: no slog */
    struct vat_log log;       /* of the vat, which may be gone */
    int64_t position;
    struct stamp saved, loaded; /* loaded.mono 0: not loaded yet */
};

/* All such lines, in the order of the snapshots. All zeros is empty. */
struct vat_pending_lines {
    struct vat_pending_line lines[STORE_BACKGROUND_MAX];
    int count;
};

/* A delivery that is replayed. */
struct vat_log_delivery {
    int64_t num;
    struct scan_span vd; /* VatDeliveryObject */
    struct stamp sent;
};

/* Once for each bundle that the vat has while this process runs. `bundle` is JSON. */
int vat_log_create(struct vat_log *log, const char *name, bool dynamic, struct iovec bundle,
                   struct error *error);
int vat_log_startup_start(struct vat_log *log, struct error *error);
int vat_log_startup_finish(struct vat_log *log, struct error *error);
int vat_log_snapshot_load(struct vat_log *log, int64_t position, const char *hash,
                          struct error *error);

int vat_log_snapshot_save(struct vat_log *log, int64_t position,
                          const struct store_snapshot *snapshot, struct error *error);

/*
 * A snapshot's lines contain its hash, which is known only later. _save() and _load() keep the
 * lines' place and time; _write() completes those of the first such snapshot. _load() is false if
 * the store has the hash: the vat's lines are deferred, or another vat's snapshot is the last one.
 */
void vat_pending_lines_save(struct vat_pending_lines *late, const struct vat_log *log,
                            int64_t position);
bool vat_pending_lines_load(struct vat_pending_lines *late, const struct vat_log *log);
int vat_pending_lines_write(struct vat_pending_lines *late, const struct store_snapshot *snapshot,
                            struct error *error);

/* `deliveries` without the worker's start, which SwingSet counts as one. */
int vat_log_replay_start(struct vat_log *log, int64_t deliveries, struct error *error);
int vat_log_replay_finish(struct vat_log *log, struct error *error);
int vat_log_replay_deliver(struct vat_log *log, const struct vat_log_delivery *delivery,
                           struct error *error);
/* `texts`: the syscall and its answer, JSON; `stamps`: when it came and when it was answered. */
int vat_log_replay_syscall(struct vat_log *log, const struct vat_log_delivery *delivery,
                           int64_t syscall_num, const struct scan_span texts[2],
                           const struct stamp stamps[2], struct error *error);
int vat_log_replay_result(struct vat_log *log, const struct vat_log_delivery *delivery,
                          const struct vat_frame *ending, struct error *error);

#endif
