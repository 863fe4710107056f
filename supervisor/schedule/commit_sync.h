/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_COMMIT_SYNC_H
#define GASPIPE_SUPERVISOR_SCHEDULE_COMMIT_SYNC_H

#include <stdbool.h>
#include <uv.h>

#include "base/error.h"
#include "store/store.h"

/*
 * Waits for the disk (store_sync()) in another thread while cranks continue. One sync covers all
 * commits made during the one before. Without a thread, or if nothing has to be synced, it ends at
 * once. All members are the loop's; sync_thread has what both threads use.
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
    bool busy;                  /* one is in progress */
    bool again;                 /* for a commit that came after its beginning */
};

/* After a commit. begins() and over() may be called from within. */
void commit_sync_request(struct commit_sync *sync);

/*
 * Waits until all that was requested is over, for which over() is called from within, and ends the
 * thread. The loop has to run once more. Requests after it are done at once.
 */
void commit_sync_close(struct commit_sync *sync);

#endif
