/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/schedule/commit_sync.h"

/*
 * Commits while a disk syncs and fails. The store is played here, linked in the place of the real
 * one: it writes until it is full, and syncs as often as the test allows.
 */
struct store {
    uv_sem_t may_sync;
    int written, full_at; /* commits; no more than the latter can be written */
    int handed_over;
};

static struct {
    int committed, syncing, durable; /* commits at each stage */
    int failures;
} stages;

static int write_commit(struct store *store, struct error *error)
{
    if (store->written == store->full_at)
        return error_set(error, ERROR_SYSTEM, "full");
    store->written++;
    return 0;
}

void store_place_thread(const struct store *store)
{
    (void)store;
}

bool store_needs_sync(const struct store *store)
{
    (void)store;
    return true;
}

int store_transaction_commit_unsynced(struct store *store, struct error *error)
{
    return write_commit(store, error);
}

int store_transaction_hand_over(struct store *store, struct error *error)
{
    (void)error;
    store->handed_over++;
    return 0;
}

int store_commit_write(struct store *store, struct error *error)
{
    return write_commit(store, error);
}

int store_sync(const struct store *store, struct error *error)
{
    (void)error;
    uv_sem_wait((uv_sem_t *)&store->may_sync);
    return 0;
}

static void on_begins(void *context)
{
    (void)context;
    stages.syncing = stages.committed;
}

static void on_over(void *context, int result, const struct error *error)
{
    (void)context;
    (void)error;
    if (result == 0)
        stages.durable = stages.syncing;
    else
        stages.failures++;
}

static int commit(struct commit_sync *sync)
{
    struct error error;

    commit_sync_poll(sync);
    if (commit_sync_write(sync, &error) != 0)
        return -1;
    stages.committed++;
    commit_sync_request(sync);
    return 0;
}

/* Allows one sync, and waits until the loop sees that it has ended. */
static void let_sync_end(struct commit_sync *sync, struct store *store)
{
    const int before = stages.durable;

    uv_sem_post(&store->may_sync);
    while (stages.durable == before)
        commit_sync_poll(sync);
}

static void open_sync(struct commit_sync *sync, struct store *store, uv_loop_t *loop)
{
    memset(&stages, 0, sizeof stages);
    assert_int_equal(uv_loop_init(loop), 0);
    assert_int_equal(uv_sem_init(&store->may_sync, 0), 0);
    *sync =
        (struct commit_sync){.loop = loop, .store = store, .begins = on_begins, .over = on_over};
}

static void close_sync(struct commit_sync *sync, struct store *store, uv_loop_t *loop)
{
    for (int i = 0; i < 4; i++) /* as many as it may still wait for */
        uv_sem_post(&store->may_sync);
    commit_sync_close(sync);
    uv_run(loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(loop), 0);
    uv_sem_destroy(&store->may_sync);
}

/* The thread writes a commit that no other waits with. */
static void free_thread_writes_commits(void **state)
{
    struct store store = {.full_at = 2};
    struct commit_sync sync;
    uv_loop_t loop;

    (void)state;
    open_sync(&sync, &store, &loop);
    assert_int_equal(commit(&sync), 0);
    let_sync_end(&sync, &store);
    assert_int_equal(commit(&sync), 0);
    assert_int_equal(store.handed_over, 1);
    close_sync(&sync, &store, &loop);
    assert_int_equal(stages.durable, 2);
    assert_int_equal(stages.failures, 0);
}

/* A written commit is reported although the next one fails. */
static void written_commits_outlive_one_that_fails(void **state)
{
    struct store store = {.full_at = 2};
    struct commit_sync sync;
    uv_loop_t loop;
    int result;

    (void)state;
    open_sync(&sync, &store, &loop);
    assert_int_equal(commit(&sync), 0);
    assert_int_equal(commit(&sync), 0); /* during the sync of the first */
    let_sync_end(&sync, &store);
    assert_int_equal(stages.durable, 1);
    result = commit(&sync);
    close_sync(&sync, &store, &loop);
    assert_int_equal(store.written, 2);
    assert_int_equal(stages.durable, 2);
    assert_true(result != 0 || stages.failures > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_thread_writes_commits),
        cmocka_unit_test(written_commits_outlive_one_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
