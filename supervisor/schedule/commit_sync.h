/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_COMMIT_SYNC_H
#define GASPIPE_SUPERVISOR_SCHEDULE_COMMIT_SYNC_H

#include <stdbool.h>
#include <uv.h>

#include "base/error.h"
#include "slog/write/writer.h"
#include "store/store.h"

/*
 * Writes commits (store_commit_write()) and waits for the disk (store_sync()) in another thread,
 * while cranks continue. One sync covers all commits made during the one before, which are written
 * in place. The slog follows each commit. Without a thread, or if nothing has to be synced, it ends
 * at once. All members are the loop's; sync_thread has what both threads use.
 */
enum commit_sync_state {
    COMMIT_SYNC_IDLE,
    COMMIT_SYNC_HANDED_OVER, /* a commit waits for its request */
    COMMIT_SYNC_DUE,         /* a request came during the last sync */
    COMMIT_SYNC_BUSY,        /* the thread syncs */
    COMMIT_SYNC_BUSY_AGAIN,  /* ... and another request has come */
};

struct commit_sync {
    uv_loop_t *loop;          /* borrowed, like the store */
    struct store *store;      /* open until commit_sync_close() */
    struct slog_writer *slog; /* NULL: none */
    bool in_place;            /* each commit is written by commit_sync_write() */
    void *context;
    void (*begins)(void *context); /* what is committed by now will be durable when it is over */
    /* With 0, or with -1 and ERROR_SYSTEM. */
    void (*over)(void *context, int result, const struct error *error);

    struct sync_thread *thread; /* from the first request on */
    bool alone;                 /* there can be no thread */
    enum commit_sync_state state;
};

/* If a sync has ended that the loop has not seen yet: calls over(), and begins the next one if it
 * is due. */
void commit_sync_poll(struct commit_sync *sync);

/* Writes a commit and the slog, or leaves them to the thread if it is free: the request that must
 * follow starts it. */
int commit_sync_write(struct commit_sync *sync, struct error *error);

/* After each commit. May call begins() and over(). */
void commit_sync_request(struct commit_sync *sync);

/*
 * Waits until all that was requested is over, for which over() is called from within, and ends the
 * thread. The loop has to run once more. Requests after it are done at once.
 */
void commit_sync_close(struct commit_sync *sync);

#endif
