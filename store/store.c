/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/schema.h"
#include "store/store_error.h"
#include "store/store_internal.h"

/* A reader and a writer lock each other out for moments only. */
enum { BUSY_MS = 5000 };

/* Between transactions the cache of keys is emptied when it has grown beyond this. */
enum { CACHE_BYTES_MAX = 256 * 1024 * 1024 };

/* ---- opening ---- */

static struct store *store_new(const char *folder, struct error *error)
{
    struct store *store = calloc(1, sizeof *store);
    struct buf path = {0};

    if (folder != NULL)
        buf_printf(&path, "%s/gaspipe.sqlite", folder);
    else
        buf_append_string(&path, ":memory:");
    if (store == NULL || buf_string(&path) == NULL) {
        buf_free(&path);
        free(store);
        error_memory(error, "the store");
        return NULL;
    }
    store->path = path.data;
    store->folder_fd = -1;
    return store;
}

/* One process at a time: the lock is on the folder, since SQLite's come and go. */
static int lock_folder(struct store *store, const char *folder, struct error *error)
{
    if (folder == NULL)
        return 0;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return error_system(error, errno, "%s: cannot make the store's folder", folder);
    store->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->folder_fd < 0)
        return error_system(error, errno, "%s: cannot open the store's folder", folder);
    if (flock(store->folder_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return store_error_set(store, error, ERROR_SYSTEM,
                               "the store is in use by another process");
    return error_system(error, errno, "%s: cannot lock the store's folder", folder);
}

static int open_database(struct store *store, int flags, struct error *error)
{
    int code = sqlite3_open_v2(store->path, &store->database, flags, NULL);

    if (code != SQLITE_OK)
        return store_error_set(store, error, ERROR_SYSTEM, "cannot open the store: %s",
                               store->database == NULL ? sqlite3_errstr(code)
                                                       : sqlite3_errmsg(store->database));
    (void)sqlite3_busy_timeout(store->database, BUSY_MS); /* cannot fail on an open database */
    return 0;
}

/* Nothing is changed in a file before it is known to be ours or empty. */
static int set_up(struct store *store, struct error *error)
{
    bool empty;

    if (schema_check(store, &empty, error) != 0 ||
        statements_execute(
            store,
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY;"
            "PRAGMA secure_delete=OFF; PRAGMA cache_size=-16384;",
            error) != 0)
        return -1;
    if (empty &&
        (statements_execute(store, "BEGIN IMMEDIATE", error) != 0 ||
         schema_create(store, error) != 0 || statements_execute(store, "COMMIT", error) != 0))
        return -1;
    return statements_prepare(store, error);
}

struct store *store_open(const char *folder, struct error *error)
{
    struct store *store = store_new(folder, error);

    if (store == NULL)
        return NULL;
    if (lock_folder(store, folder, error) == 0 &&
        open_database(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error) == 0 &&
        set_up(store, error) == 0)
        return store;
    store_close(store);
    return NULL;
}

static int look_for_file(struct store *store, struct error *error)
{
    struct stat status;

    if (stat(store->path, &status) == 0)
        return 0;
    if (errno == ENOENT || errno == ENOTDIR)
        return store_error_set(store, error, ERROR_INPUT, "no such store");
    return error_system(error, errno, "%s: cannot look for the store", store->path);
}

static int set_up_reader(struct store *store, struct error *error)
{
    bool empty;

    if (schema_check(store, &empty, error) != 0)
        return -1;
    if (empty)
        return store_error_set(store, error, ERROR_INPUT, "a store that holds nothing yet");
    return statements_prepare(store, error);
}

struct store *store_open_reader(const char *folder, struct error *error)
{
    struct store *store = store_new(folder, error);

    if (store == NULL)
        return NULL;
    store->reads_only = true;
    if (look_for_file(store, error) == 0 &&
        open_database(store, SQLITE_OPEN_READONLY, error) == 0 && set_up_reader(store, error) == 0)
        return store;
    store_close(store);
    return NULL;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    statements_finalize(store);
    (void)sqlite3_close(store->database); /* fails only while statements are left */
    if (store->folder_fd >= 0)
        (void)close(store->folder_fd);
    key_cache_clear(&store->cache);
    buf_free(&store->scope);
    free(store->path);
    free(store);
}

/* ---- transactions and savepoints ---- */

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

int store_transaction_commit(struct store *store, struct error *error)
{
    if (!in_transaction(store))
        return 0;
    if (store->cache.savepoint_count > 0)
        return store_error_set(store, error, ERROR_SYSTEM, "a crank is not ended");
    if (statement_run(store, STATEMENT_COMMIT, error) != 0)
        return -1;
    if (store->cache.bytes > CACHE_BYTES_MAX)
        key_cache_clear(&store->cache);
    return 0;
}

void store_transaction_rollback(struct store *store)
{
    /* A failed rollback leaves nothing committed either. */
    if (in_transaction(store))
        (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    key_cache_clear(&store->cache);
}

int store_savepoint_set(struct store *store, struct error *error)
{
    if (store_transaction_begin(store, error) != 0 ||
        statement_run(store, STATEMENT_SAVEPOINT, error) != 0)
        return -1;
    if (key_cache_savepoint(&store->cache) != 0)
        return error_memory(error, "a crank");
    return 0;
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
    return 0;
}

int store_savepoint_release(struct store *store, struct error *error)
{
    if (look_for_savepoint(store, error) != 0 ||
        statement_run(store, STATEMENT_RELEASE, error) != 0)
        return -1;
    key_cache_release(&store->cache);
    return 0;
}

/* ---- watching ---- */

void store_watch(struct store *store,
                 void (*changed)(void *context, char what, struct iovec key, struct iovec value),
                 void *context)
{
    store->changed = changed;
    store->changed_context = context;
}
