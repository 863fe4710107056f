/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/snapshot/snapshot_bytes.h"
#include "store/store_internal.h"

/* ---- the thread that compresses and hashes ---- */

/* One at a time packs: several would take the processors from the cranks that go on. */
static pthread_mutex_t packing_turn = PTHREAD_MUTEX_INITIALIZER;

struct packing {
    pthread_t thread;
    const struct store *store; /* outlives the thread */
    int fd;                    /* -1: everything was read */
    struct buf compressed;
    struct store_snapshot snapshot;
    int result;
    struct error error;
    atomic_bool over; /* what is above will not change any more */
};

/* Not on the processor of the crank that goes on, unless the system thinks better of it later. */
static void leave_processor(const struct store *store)
{
    const int here = sched_getcpu();
    cpu_set_t others = store->processors;

    if (here >= 0)
        CPU_CLR((size_t)here, &others);
    if (CPU_COUNT(&others) > 0)
        (void)sched_setaffinity(0, sizeof others, &others);
    store_place_thread(store);
}

static void *pack(void *argument)
{
    struct packing *packing = argument;

    leave_processor(packing->store);
    (void)pthread_mutex_lock(&packing_turn); /* cannot fail: this thread has not locked it */
    packing->result =
        snapshot_bytes_pack(packing->fd, &packing->compressed, &packing->snapshot, &packing->error);
    (void)pthread_mutex_unlock(&packing_turn);
    /* Here, since that may free as much memory as the snapshot has bytes. */
    close(packing->fd);
    packing->fd = -1;
    atomic_store(&packing->over, true);
    return NULL;
}

/* Signals are for the thread that has the event loop. */
static int start_thread(struct packing *packing)
{
    sigset_t all, before;
    int result;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    result = pthread_create(&packing->thread, NULL, pack, packing);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

static void free_packing(struct packing *packing)
{
    buf_free(&packing->compressed);
    if (packing->fd >= 0)
        close(packing->fd);
    free(packing);
}

/*
 * Packs what is read from `fd` up to its end. `fd` is owned. NULL with ERROR_SYSTEM; then `fd` is
 * closed, too.
 */
static struct packing *packing_start(int fd, const struct store *store, struct error *error)
{
    struct packing *packing = calloc(1, sizeof *packing);
    int result;

    if (packing == NULL) {
        close(fd);
        error_memory(error, "a snapshot");
        return NULL;
    }
    packing->fd = fd;
    packing->store = store;
    result = start_thread(packing);
    if (result == 0)
        return packing;
    free_packing(packing);
    error_system(error, result, "cannot start a thread for a snapshot");
    return NULL;
}

/* Waits for the end, and frees `packing`. Appends the compressed bytes and fills *snapshot. */
static int packing_end(struct packing *packing, struct buf *compressed,
                       struct store_snapshot *snapshot, struct error *error)
{
    int result;

    (void)pthread_join(packing->thread, NULL); /* cannot fail: it is joined once */
    result = packing->result;
    if (result != 0)
        *error = packing->error;
    else if (buf_append(compressed, packing->compressed.data, packing->compressed.length) != 0)
        result = error_memory(error, "a snapshot");
    *snapshot = packing->snapshot;
    free_packing(packing);
    return result;
}

/* ---- the snapshots in the store ---- */

static void unlink_late(struct store *store, const struct late_snapshot *late)
{
    struct late_snapshot **link = &store->late;

    while (*link != late)
        link = &(*link)->next;
    *link = late->next;
}

static void forget(struct store *store, struct late_snapshot *late)
{
    unlink_late(store, late);
    buf_free(&late->compressed);
    free(late);
}

bool store_snapshot_is_late(const struct store *store)
{
    for (const struct late_snapshot *late = store->late; late != NULL; late = late->next)
        if (late->state == LATE_PACKING && !atomic_load(&late->packing->over))
            return true;
    return false;
}

/* Waits for its end, and tells it. Forgets it when it fails. */
static int end_packing(struct store *store, struct late_snapshot *late, struct error *error)
{
    if (packing_end(late->packing, &late->compressed, &late->snapshot, error) != 0) {
        forget(store, late);
        return -1;
    }
    late->packing = NULL;
    late->state = LATE_PACKED;
    if (late->listener.kept == NULL)
        return 0;
    return late->listener.kept(late->listener.context, &late->snapshot, error);
}

static int late_snapshot_put(struct store *store, const struct late_snapshot *late,
                             struct error *error)
{
    const struct row row = {
        .table = ROW_SNAPSHOT,
        .numbers = {late->vat, late->incarnation, late->position},
        .value = {(void *)(uintptr_t)late->snapshot.hash, strlen(late->snapshot.hash)},
    };

    if (snapshot_content_put(store, &late->snapshot,
                             (struct iovec){late->compressed.data, late->compressed.length},
                             error) != 0)
        return -1;
    return snapshot_record_put(store, &row, error);
}

/* It may be forgotten by that. */
static int settle_one(struct store *store, struct late_snapshot *late, struct error *error)
{
    if (late->state == LATE_PACKING && end_packing(store, late, error) != 0)
        return -1;
    if (late->state != LATE_PACKED)
        return 0;
    if (late_snapshot_put(store, late, error) != 0)
        return -1;
    late->state = LATE_PUT;
    late->savepoints = store->cache.savepoint_count;
    if (late->savepoints == 0)
        forget(store, late);
    return 0;
}

int store_snapshot_settle(struct store *store, struct error *error)
{
    struct late_snapshot *next;

    for (struct late_snapshot *late = store->late; late != NULL; late = next) {
        next = late->next;
        if (settle_one(store, late, error) != 0)
            return -1;
    }
    return 0;
}

static void undo_late(struct store *store)
{
    for (struct late_snapshot *late = store->late; late != NULL; late = late->next)
        if (late->state == LATE_PUT && late->savepoints > store->cache.savepoint_count)
            late->state = LATE_PACKED;
}

static void release_late(struct store *store)
{
    struct late_snapshot *next;

    for (struct late_snapshot *late = store->late; late != NULL; late = next) {
        next = late->next;
        if (late->state != LATE_PUT || late->savepoints <= store->cache.savepoint_count)
            continue;
        late->savepoints = store->cache.savepoint_count;
        if (late->savepoints == 0)
            forget(store, late);
    }
}

static void drop_late(struct store *store)
{
    struct error ignored; /* nothing of it is kept */

    while (store->late != NULL)
        if (store->late->state != LATE_PACKING || end_packing(store, store->late, &ignored) == 0)
            forget(store, store->late);
}

/* Behind those that are late already. */
static void add_late(struct store *store, struct late_snapshot *late)
{
    struct late_snapshot **link = &store->late;

    while (*link != NULL)
        link = &(*link)->next;
    *link = late;
}

static bool are_too_many(const struct store *store)
{
    int count = 0;

    for (const struct late_snapshot *late = store->late; late != NULL; late = late->next)
        count++;
    return count >= STORE_LATE_MAX;
}

/* NULL with the error; `fd` is owned in both cases. */
static struct late_snapshot *late_snapshot_new(const struct store *store, int fd,
                                               struct error *error)
{
    struct late_snapshot *late = calloc(1, sizeof *late);

    if (late == NULL) {
        close(fd);
        error_memory(error, "a snapshot");
        return NULL;
    }
    late->packing = packing_start(fd, store, error);
    if (late->packing != NULL)
        return late;
    free(late);
    return NULL;
}

int store_snapshot_put_late(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                            int fd, const struct store_late_listener *listener, struct error *error)
{
    static const struct transaction_watch watch = {
        .commits = store_snapshot_settle,
        .undone = undo_late,
        .released = release_late,
        .dropped = drop_late,
    };
    struct late_snapshot *late;

    if (are_too_many(store) && store_snapshot_settle(store, error) != 0) {
        close(fd);
        return -1;
    }
    late = late_snapshot_new(store, fd, error);
    if (late == NULL)
        return -1;
    late->state = LATE_PACKING;
    late->vat = vat;
    late->incarnation = incarnation;
    late->position = position;
    late->listener = *listener;
    add_late(store, late);
    store->watch = &watch;
    return 0;
}
