/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_COMMIT_SYNC_H
#define GASPIPE_SUPERVISOR_SCHEDULE_COMMIT_SYNC_H

#include <stdbool.h>
#include <uv.h>

#include "base/error.h"
#include "store/store.h"

/*
 * Has another thread wait for the disk (store_sync()), so that cranks go on after a commit. One
 * call covers all commits that were made while the one before was under way. Where there is nothing
 * to wait for, it is over at once.
 */
struct commit_sync {
    uv_loop_t *loop;           /* borrowed, like the store */
    const struct store *store; /* open until nothing is under way */
    void *context;
    void (*begins)(void *context); /* what is committed by now will be durable when it is over */
    /* With 0 and NULL, or -1 and ERROR_SYSTEM. */
    void (*over)(void *context, int result, const struct error *error);

    struct sync_work *work; /* under way; NULL: none */
    bool again;             /* for a commit that came after its beginning */
};

/* After a commit. -1 with ERROR_SYSTEM; begins() and over() may be called from within. */
int commit_sync_request(struct commit_sync *sync, struct error *error);

/* Waits until all that was requested is over; over() is called for it from within. */
void commit_sync_settle(struct commit_sync *sync);

#endif
