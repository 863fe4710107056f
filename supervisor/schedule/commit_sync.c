/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/commit_sync.h"

#include <stdlib.h>

struct sync_work {
    uv_work_t request;
    uv_sem_t ended;
    struct commit_sync *owner; /* NULL: it was settled */
    const struct store *store;
    int result;
    struct error error;
};

static void run_work(uv_work_t *request)
{
    struct sync_work *work = request->data;

    work->result = store_sync(work->store, &work->error);
    uv_sem_post(&work->ended);
}

static void report_work(struct commit_sync *sync)
{
    struct sync_work *work = sync->work;
    const int result = work->result;
    const struct error error = work->error;

    work->owner = NULL; /* the loop frees it */
    sync->work = NULL;
    if (result != 0)
        sync->again = false;
    sync->over(sync->context, result, &error);
}

static int begin_work(struct commit_sync *sync, struct error *error);

static void work_after(uv_work_t *request, int status)
{
    struct sync_work *work = request->data;
    struct commit_sync *sync = work->owner;
    struct error error;

    (void)status; /* nobody cancels it */
    if (sync != NULL)
        report_work(sync);
    uv_sem_destroy(&work->ended);
    free(work);
    if (sync != NULL && sync->again && sync->work == NULL && begin_work(sync, &error) != 0)
        sync->over(sync->context, -1, &error);
}

static int begin_work(struct commit_sync *sync, struct error *error)
{
    struct sync_work *work = calloc(1, sizeof *work);

    sync->again = false;
    if (work == NULL || uv_sem_init(&work->ended, 0) != 0) {
        free(work);
        return error_memory(error, "the sync of a commit");
    }
    work->owner = sync;
    work->store = sync->store;
    work->request.data = work;
    sync->work = work;
    sync->begins(sync->context);
    (void)uv_queue_work(sync->loop, &work->request, run_work, work_after); /* fails without a
                                                                             function only */
    return 0;
}

int commit_sync_request(struct commit_sync *sync, struct error *error)
{
    if (!store_needs_sync(sync->store)) {
        sync->begins(sync->context);
        sync->over(sync->context, 0, NULL);
        return 0;
    }
    if (sync->work == NULL)
        return begin_work(sync, error);
    sync->again = true;
    return 0;
}

void commit_sync_settle(struct commit_sync *sync)
{
    struct error error;

    while (sync->work != NULL || sync->again) {
        if (sync->work == NULL && begin_work(sync, &error) != 0) {
            sync->over(sync->context, -1, &error);
            return;
        }
        uv_sem_wait(&sync->work->ended);
        report_work(sync);
    }
}
