/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_COMMIT_SYNC_H
#define GASPIPE_SUPERVISOR_SCHEDULE_COMMIT_SYNC_H

#include <stdbool.h>
#include <uv.h>

#include "base/error.h"
#include "store/store.h"

/*
 * Has another thread write commits (store_commit_write()) and wait for the disk (store_sync()), so
 * that cranks go on meanwhile. One call covers all commits that were made while the one before was
 * under way, which their maker writes himself. Where there is nothing to wait for, or no thread to
 * be had, it is over at once.
 */
struct commit_sync {
    uv_loop_t *loop;     /* borrowed, like the store */
    struct store *store; /* open until commit_sync_close() */
    void *context;
    void (*begins)(void *context); /* what is committed by now will be durable when it is over */
    /* With 0, or with -1 and ERROR_SYSTEM. */
    void (*over)(void *context, int result, const struct error *error);

    struct sync_thread *thread; /* from the first request on */
    bool alone;                 /* there can be no thread */
    bool busy;                  /* one is under way */
    bool again;                 /* for a commit that came after its beginning */
};

/*
 * Whether the thread waits for work, and can write a commit. over() is called from within when the
 * loop has not seen yet that it has ended.
 */
bool commit_sync_is_free(struct commit_sync *sync);

/*
 * After a commit, or after store_transaction_hand_over() while the thread is free: `writes`.
 * begins() and over() may be called from within.
 */
void commit_sync_request(struct commit_sync *sync, bool writes);

/*
 * Waits until all that was requested is over, for which over() is called from within, and ends the
 * thread. The loop has to run once more. Requests after it are done at once.
 */
void commit_sync_close(struct commit_sync *sync);

#endif
