/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_WORKER_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/scan.h"
#include "proto/meter.h"
#include "supervisor/process/launcher.h"
#include "supervisor/process/session.h"
#include "supervisor/runtime/vat_runtime.h"

struct runtime_snapshots;

/* Shared by the workers of a replay. */
struct replay_host {
    uv_loop_t *loop;
    const struct launch_config *launcher;
    struct vat_runtimes *runtimes;
    struct runtime_snapshots *warm; /* that fresh workers start from */
    struct placement *placement;    /* of this process and its workers */
    uint64_t timeout_ms;            /* for each answer of a worker; 0: none */
};

/* The worker of a vat that is replayed. Errors are ERROR_SYSTEM. */
struct replay_worker {
    const struct replay_host *host; /* borrowed */
    struct session *session;        /* NULL: none runs */
    struct vat_runtime runtime;     /* what was, or will be, evaluated in it */
    uint64_t limit_ms;              /* for its next answer; 0: none */
    bool stopped;                   /* the last delivery was, at a limit, */
    struct meter used;              /* and that is what it used; owned */
};

/* The vat of a worker. */
struct replay_owner {
    const char *id;           /* "v1"; "" for none */
    const char *name;         /* "" for none */
    const struct buf *bundle; /* JSON; terminated */
};

/* A fresh one, from its runtime's warm snapshot, with the vat's bundle. */
int replay_worker_start(struct replay_worker *worker, const struct replay_owner *owner,
                        struct error *error);

/* Starts a worker from a snapshot that replay_worker_save() made. */
int replay_worker_restore(struct replay_worker *worker, const struct replay_owner *owner,
                          int snapshot_fd, struct error *error);

/* Writes a snapshot into an empty file. The worker continues. */
int replay_worker_save(struct replay_worker *worker, const struct replay_owner *owner,
                       int snapshot_fd, struct error *error);

/* Waits for what ends a command or is a syscall; console calls are answered. */
int replay_worker_wait(struct replay_worker *worker, struct session_news *news,
                       struct error *error);

int replay_worker_answer(struct replay_worker *worker, struct scan_span answer,
                         struct error *error);

/* Ends it and waits until it is gone, if one runs. */
void replay_worker_end(struct replay_worker *worker);

/* The first byte of a frame; '\0' for other news and an empty frame. */
char replay_worker_command(const struct session_news *news);

/* Appends what a worker's end, its silence, or a frame out of turn comes to. */
void replay_worker_put_end(const struct replay_worker *worker, const struct session_news *news,
                           struct buf *reason);

#endif
