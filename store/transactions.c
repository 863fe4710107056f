/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "store/integrity/running_sums.h"
#include "store/key_writes.h"
#include "store/store_error.h"
#include "store/store_internal.h"

/* Between transactions the cache of keys is emptied when it has grown beyond this. */
enum { CACHE_BYTES_MAX = 256 * 1024 * 1024 };

static bool in_transaction(const struct store *store)
{
    return sqlite3_get_autocommit(store->database) == 0;
}

int store_transaction_begin(struct store *store, struct error *error)
{
    if (in_transaction(store))
        return 0;
    return statement_run(store, store->reads_only ? STATEMENT_BEGIN_READER : STATEMENT_BEGIN,
                         error);
}

/* Whoever prints what was committed relies on the file's being the one that has it. */
static int commit_marked(struct store *store, struct error *error)
{
    if (commit_mark_announce(&store->mark, store->sums.total, error) != 0 ||
        statement_run(store, STATEMENT_COMMIT, error) != 0 ||
        commit_mark_confirm(&store->mark, error) != 0)
        return -1;
    return commit_mark_still_there(&store->mark, store->path, error);
}

int store_transaction_commit_unsynced(struct store *store, struct error *error)
{
    if (!in_transaction(store))
        return 0;
    if (store->cache.savepoint_count > 0)
        return store_error_set(store, error, ERROR_SYSTEM, "a crank is not ended");
    if ((store->watch != NULL && store->watch->commits(store, error) != 0) ||
        key_writes_finish(store, error) != 0 || running_sums_write(store, error) != 0 ||
        commit_marked(store, error) != 0)
        return -1;
    if (store->cache.bytes > CACHE_BYTES_MAX)
        key_cache_clear(&store->cache);
    return 0;
}

bool store_needs_sync(const struct store *store)
{
    return store->log_fd >= 0;
}

int store_sync(const struct store *store, struct error *error)
{
    if (!store_needs_sync(store) || fdatasync(store->log_fd) == 0)
        return 0;
    return error_system(error, errno, "%s: cannot sync the last commit", store->path);
}

void store_place_thread(const struct store *store)
{
    (void)sched_setaffinity(0, sizeof store->processors, &store->processors);
}

int store_transaction_commit(struct store *store, struct error *error)
{
    if (!in_transaction(store))
        return 0;
    if (store_transaction_commit_unsynced(store, error) != 0)
        return -1;
    return store_sync(store, error);
}

void store_transaction_rollback(struct store *store)
{
    if (store->watch != NULL)
        store->watch->dropped(store);
    /* A failed rollback leaves nothing committed either. */
    if (in_transaction(store))
        (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    key_cache_clear(&store->cache);
    running_sums_clear(&store->sums);
    store->sums.total = store->mark.last;
}

int store_savepoint_set(struct store *store, struct error *error)
{
    if (store_transaction_begin(store, error) != 0 ||
        statement_run(store, STATEMENT_SAVEPOINT, error) != 0)
        return -1;
    if (key_cache_savepoint(&store->cache) != 0)
        return error_memory(error, "a crank");
    return running_sums_savepoint(&store->sums, error);
}

static int look_for_savepoint(const struct store *store, struct error *error)
{
    if (store->cache.savepoint_count > 0)
        return 0;
    return store_error_set(store, error, ERROR_SYSTEM, "no crank is begun");
}

int store_savepoint_undo(struct store *store, struct error *error)
{
    if (look_for_savepoint(store, error) != 0 || statement_run(store, STATEMENT_UNDO, error) != 0 ||
        statement_run(store, STATEMENT_RELEASE, error) != 0)
        return -1;
    key_cache_undo(&store->cache);
    running_sums_undo(&store->sums);
    if (store->watch != NULL)
        store->watch->undone(store);
    return 0;
}

int store_savepoint_release(struct store *store, struct error *error)
{
    if (look_for_savepoint(store, error) != 0 ||
        statement_run(store, STATEMENT_RELEASE, error) != 0)
        return -1;
    key_cache_release(&store->cache);
    running_sums_release(&store->sums);
    if (store->watch != NULL)
        store->watch->released(store);
    return 0;
}
