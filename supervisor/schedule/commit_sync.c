/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/commit_sync.h"

#include <stdlib.h>

#include "base/thread.h"

/*
 * Not one of libuv's pool: libuv aborts if it cannot start those. The semaphores hand the last
 * four members back and forth: the loop owns them until it posts `wanted`, and the thread from
 * then until it posts `ended`.
 */
struct sync_thread {
    pthread_t thread;
    uv_sem_t wanted, ended;
    uv_async_t call; /* wakes the loop when a sync has ended; keeps it running while one is due */
    struct commit_sync *owner; /* the loop's */
    struct store *store;       /* the thread only calls store_commit_write() and store_sync() */
    bool stopping;
    bool writes; /* the commit first */
    int result;  /* of the latest sync, with its error */
    struct error error;
};

static int write_and_sync(struct sync_thread *thread)
{
    if (thread->writes && store_commit_write(thread->store, &thread->error) != 0)
        return -1;
    return store_sync(thread->store, &thread->error);
}

static void *run_syncs(void *argument)
{
    struct sync_thread *thread = argument;

    store_place_thread(thread->store);
    for (;;) {
        uv_sem_wait(&thread->wanted);
        if (thread->stopping)
            return NULL;
        thread->result = write_and_sync(thread);
        uv_sem_post(&thread->ended);
        (void)uv_async_send(&thread->call); /* cannot fail while the handle is open */
    }
}

/* ---- its life ---- */

static void free_thread(uv_handle_t *handle)
{
    struct sync_thread *thread = handle->data;

    uv_sem_destroy(&thread->ended);
    uv_sem_destroy(&thread->wanted);
    free(thread);
}

static bool init_semaphores(struct sync_thread *thread)
{
    if (uv_sem_init(&thread->wanted, 0) != 0)
        return false;
    if (uv_sem_init(&thread->ended, 0) == 0)
        return true;
    uv_sem_destroy(&thread->wanted);
    return false;
}

static void on_sync_ended(uv_async_t *call);

/* NULL if it cannot be started. */
static struct sync_thread *start_sync_thread(struct commit_sync *sync)
{
    struct sync_thread *thread = calloc(1, sizeof *thread);

    if (thread == NULL || !init_semaphores(thread)) {
        free(thread);
        return NULL;
    }
    thread->owner = sync;
    thread->store = sync->store;
    if (uv_async_init(sync->loop, &thread->call, on_sync_ended) != 0) {
        thread->call.data = thread;
        free_thread((uv_handle_t *)&thread->call);
        return NULL;
    }
    thread->call.data = thread;
    uv_unref((uv_handle_t *)&thread->call);
    if (thread_start(&thread->thread, run_syncs, thread) == 0)
        return thread;
    uv_close((uv_handle_t *)&thread->call, free_thread);
    return NULL;
}

static void stop_sync_thread(struct sync_thread *thread)
{
    thread->stopping = true;
    uv_sem_post(&thread->wanted);
    (void)pthread_join(thread->thread, NULL); /* cannot fail: it is joined once */
    uv_close((uv_handle_t *)&thread->call, free_thread);
}

/* ---- syncs ---- */

static void begin_sync(struct commit_sync *sync)
{
    sync->thread->writes = sync->state == COMMIT_SYNC_HANDED_OVER;
    sync->state = COMMIT_SYNC_BUSY;
    sync->begins(sync->context);
    uv_ref((uv_handle_t *)&sync->thread->call);
    uv_sem_post(&sync->thread->wanted);
}

/* After it has ended. */
static void report_sync(struct commit_sync *sync)
{
    int result = sync->thread->result;
    struct error error = sync->thread->error;

    uv_unref((uv_handle_t *)&sync->thread->call);
    if (result == 0 && sync->slog != NULL)
        result = slog_writer_flush_blocks(sync->slog, &error);
    sync->state =
        result == 0 && sync->state == COMMIT_SYNC_BUSY_AGAIN ? COMMIT_SYNC_DUE : COMMIT_SYNC_IDLE;
    sync->over(sync->context, result, &error);
}

static bool is_syncing(const struct commit_sync *sync)
{
    return sync->state >= COMMIT_SYNC_BUSY;
}

/* Reports the sync that has ended; false: none has. */
static bool report_ended(struct commit_sync *sync)
{
    if (!is_syncing(sync) || uv_sem_trywait(&sync->thread->ended) != 0)
        return false;
    report_sync(sync);
    return true;
}

static void on_sync_ended(uv_async_t *call)
{
    const struct sync_thread *thread = call->data;

    commit_sync_poll(thread->owner);
}

static void sync_in_place(struct commit_sync *sync)
{
    struct error error = {.kind = ERROR_NONE};
    int result;

    sync->begins(sync->context);
    result = store_sync(sync->store, &error);
    sync->over(sync->context, result, &error);
}

static int write_in_place(struct commit_sync *sync, struct error *error)
{
    if (store_transaction_commit_unsynced(sync->store, error) != 0)
        return -1;
    return sync->slog == NULL ? 0 : slog_writer_flush(sync->slog, error);
}

/* The slog is written in report_sync(), after the commit. */
static int hand_over(struct commit_sync *sync, struct error *error)
{
    if ((sync->slog != NULL && slog_writer_end_block(sync->slog, error) != 0) ||
        store_transaction_hand_over(sync->store, error) != 0)
        return -1;
    sync->state = COMMIT_SYNC_HANDED_OVER;
    return 0;
}

/* Begins a sync that is due, so that a written commit never waits with one that may still fail. */
void commit_sync_poll(struct commit_sync *sync)
{
    if (report_ended(sync) && sync->state == COMMIT_SYNC_DUE)
        begin_sync(sync);
}

int commit_sync_write(struct commit_sync *sync, struct error *error)
{
    if (sync->in_place || sync->thread == NULL || is_syncing(sync))
        return write_in_place(sync, error);
    return hand_over(sync, error);
}

void commit_sync_request(struct commit_sync *sync)
{
    if (sync->thread == NULL && !sync->alone && store_needs_sync(sync->store)) {
        sync->thread = start_sync_thread(sync);
        sync->alone = sync->thread == NULL;
    }
    if (sync->thread == NULL)
        sync_in_place(sync);
    else if (is_syncing(sync))
        sync->state = COMMIT_SYNC_BUSY_AGAIN;
    else
        begin_sync(sync);
}

/* Waits until all that was handed over or requested is over. */
static void settle_syncs(struct commit_sync *sync)
{
    while (sync->state != COMMIT_SYNC_IDLE) {
        if (!is_syncing(sync))
            begin_sync(sync);
        uv_sem_wait(&sync->thread->ended);
        report_sync(sync);
    }
}

void commit_sync_close(struct commit_sync *sync)
{
    settle_syncs(sync);
    if (sync->thread != NULL)
        stop_sync_thread(sync->thread);
    sync->thread = NULL;
    sync->alone = true;
}
