/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "store/integrity/cached_rows.h"
#include "store/statements.h"
#include "store/store.h"
#include "store/store_internal.h"

static int query_sum(struct store *store, const char *text, struct store_sum *sum,
                     struct error *error)
{
    int64_t numbers[2];

    if (statements_query(store, text, numbers, 2, error) != 0)
        return -1;
    *sum = (struct store_sum){.items = numbers[0], .bytes = numbers[1]};
    return 0;
}

static int sum_tables(struct store *store, struct store_sums *sums, struct error *error)
{
    if (query_sum(store,
                  "SELECT count(*), coalesce(sum(length(CAST(name AS BLOB)) + length(value)), 0) "
                  "FROM key",
                  &sums->keys, error) != 0 ||
        query_sum(store,
                  "SELECT count(*), coalesce(sum(length(key) + length(value)), 0) FROM vatstore",
                  &sums->vatstores, error) != 0 ||
        query_sum(store, "SELECT count(*), coalesce(sum(length(item)), 0) FROM transcript",
                  &sums->transcripts, error) != 0 ||
        query_sum(store, "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM snapshot_content",
                  &sums->snapshots, error) != 0)
        return -1;
    return query_sum(store, "SELECT count(*), coalesce(sum(length(json)), 0) FROM bundle",
                     &sums->bundles, error);
}

int store_sum_all(struct store *store, struct store_sums *sums, struct error *error)
{
    struct store_sum pages, free_pages;

    if (key_writes_finish(store, error) != 0 || sum_tables(store, sums, error) != 0 ||
        query_sum(store, "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size",
                  &pages, error) != 0 ||
        query_sum(store,
                  "SELECT freelist_count, page_size FROM pragma_freelist_count, pragma_page_size",
                  &free_pages, error) != 0)
        return -1;
    sums->file_bytes = pages.items * pages.bytes;
    sums->free_bytes = free_pages.items * free_pages.bytes;
    return 0;
}

int store_vat_sum(struct store *store, int64_t vat, struct store_sum *sum, struct error *error)
{
    int result;
    bool row;

    if (key_writes_finish(store, error) != 0)
        return -1;
    statement_bind_integer(store, STATEMENT_VAT_SUM, 1, vat);
    result = statement_step(store, STATEMENT_VAT_SUM, &row, error);
    if (row) {
        sum->items = statement_integer(store, STATEMENT_VAT_SUM, 0);
        sum->bytes = statement_integer(store, STATEMENT_VAT_SUM, 1);
    }
    statement_done(store, STATEMENT_VAT_SUM);
    return result;
}

/* Between transactions the cache of keys is emptied when it has grown beyond this. */
enum { CACHE_BYTES_MAX = 96 * 1024 * 1024 };

int store_transaction_begin(struct store *store, struct error *error)
{
    (void)error;
    store->begun = true;
    return 0;
}

/* Fails if the file was replaced: the caller would report a commit that is nowhere. */
static int commit_marked(struct store *store, struct error *error)
{
    if (commit_mark_announce(&store->mark, store->commit.total, error) != 0 ||
        statement_run(store, STATEMENT_COMMIT, error) != 0)
        return -1;
    store->sqlite_begun = false;
    if (commit_mark_confirm(&store->mark, error) != 0)
        return -1;
    return commit_mark_still_there(&store->mark, store->path, error);
}

static int write_commit(struct store *store, struct error *error)
{
    const struct commit_writes *commit = &store->commit;

    if (!store->sqlite_begun && commit->keys.count == 0 && commit->sums.count == 0)
        return 0; /* nothing has changed */
    if (statements_begin(store, error) != 0 ||
        key_writes_perform(&commit->keys, store, error) != 0 ||
        running_sums_write(store, &commit->sums, error) != 0)
        return -1;
    return commit_marked(store, error);
}

/* Takes the changed rows from the cache. */
static int close_transaction(struct store *store, struct error *error)
{
    struct commit_writes *commit = &store->commit;

    if (store->cache.savepoint_count > 0)
        return store_error_set(store, error, ERROR_SYSTEM, "a crank is not ended");
    if (store->watch != NULL && store->watch->commits(store, error) != 0)
        return -1;
    if (statements_check_commit(store, error) != 0)
        return -1;
    commit->total = store->sums.total;
    if (key_writes_gather(&commit->keys, store, error) != 0)
        return -1;
    return running_sums_gather(&store->sums, &commit->sums, error);
}

/* The tables have all that the cache holds now, so it may be emptied. */
static void forget_transaction(struct store *store)
{
    store->begun = false;
    key_cache_trim(&store->cache);
    if (store->cache.bytes > CACHE_BYTES_MAX)
        key_cache_clear(&store->cache);
}

int store_transaction_commit_unsynced(struct store *store, struct error *error)
{
    if (!store->begun)
        return 0;
    if (close_transaction(store, error) != 0 || write_commit(store, error) != 0)
        return -1;
    forget_transaction(store);
    return 0;
}

int store_transaction_hand_over(struct store *store, struct error *error)
{
    if (close_transaction(store, error) != 0)
        return -1;
    forget_transaction(store);
    statements_lend(store);
    return 0;
}

int store_commit_write(struct store *store, struct error *error)
{
    int result;

    statements_take(store);
    result = write_commit(store, error);
    if (result != 0)
        store->commit_error = *error;
    statements_return(store);
    return result;
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
    (void)sched_setaffinity(0, sizeof store->cpus, &store->cpus);
}

int store_transaction_commit(struct store *store, struct error *error)
{
    if (!store->begun)
        return 0;
    if (store_transaction_commit_unsynced(store, error) != 0)
        return -1;
    return store_sync(store, error);
}

void store_transaction_rollback(struct store *store)
{
    if (store->watch != NULL)
        store->watch->dropped(store);
    statements_wait(store);
    store->commit_error.kind = ERROR_NONE;
    /* A failed rollback leaves nothing committed either. */
    if (sqlite3_get_autocommit(store->database) == 0)
        (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    store->begun = store->sqlite_begun = false;
    store->sqlite_savepoints = store->unwritten_bytes = 0;
    key_cache_clear(&store->cache);
    running_sums_clear(&store->sums);
    store->sums.total = store->mark.last;
}

int store_savepoint_set(struct store *store, struct error *error)
{
    if (store_transaction_begin(store, error) != 0)
        return -1;
    if (key_cache_savepoint(&store->cache) != 0)
        return error_memory(error, "a crank");
    return running_sums_savepoint(&store->sums, error);
}

/* *in_sqlite: SQLite has set the last savepoint, too, and the caller ends it there. */
static int find_savepoint(struct store *store, bool *in_sqlite, struct error *error)
{
    if (store->cache.savepoint_count == 0)
        return store_error_set(store, error, ERROR_SYSTEM, "no crank is begun");
    *in_sqlite = store->sqlite_savepoints == store->cache.savepoint_count;
    store->sqlite_savepoints -= *in_sqlite;
    return 0;
}

int store_savepoint_undo(struct store *store, struct error *error)
{
    bool in_sqlite;

    if (find_savepoint(store, &in_sqlite, error) != 0 ||
        (in_sqlite && (statement_run(store, STATEMENT_UNDO, error) != 0 ||
                       statement_run(store, STATEMENT_RELEASE, error) != 0)))
        return -1;
    key_cache_undo(&store->cache);
    running_sums_undo(&store->sums);
    if (store->watch != NULL)
        store->watch->undone(store);
    return 0;
}

int store_savepoint_release(struct store *store, struct error *error)
{
    bool in_sqlite;

    if (find_savepoint(store, &in_sqlite, error) != 0 ||
        (in_sqlite && statement_run(store, STATEMENT_RELEASE, error) != 0))
        return -1;
    key_cache_release(&store->cache);
    running_sums_release(&store->sums);
    if (store->watch != NULL)
        store->watch->released(store);
    return 0;
}

int transaction_enter(struct store *store, bool *own, struct error *error)
{
    *own = !store->begun;
    return *own ? store_transaction_begin(store, error) : 0;
}

int transaction_leave(struct store *store, bool own, int result, struct error *error)
{
    if (own && result == 0)
        result = store_transaction_commit(store, error);
    if (own && result != 0)
        store_transaction_rollback(store);
    return result;
}
