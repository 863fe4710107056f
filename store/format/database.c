/* SPDX-License-Identifier: Apache-2.0 */
#include "store/format/database.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "store/integrity/page_vfs.h"
#include "store/statements.h"
#include "store/store_internal.h"

/* "gasp", in the file's header (PRAGMA application_id). */
#define APPLICATION_ID 0x67617370

/*
 * Values, and the keys of vats, are blobs: SQLite compares them byte by byte, and they may contain
 * '\0'. Snapshots' contents have a table of their own, so that SQLite does not read them when it
 * looks for a name or a vat. Tables with large rows have row numbers: without them, SQLite would
 * read the neighbours of a row whole, some of which may be damaged. Checksums: integrity/rows.h.
 */
static const char schema[] =
    "CREATE TABLE key (name TEXT PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL)"
    "  STRICT, WITHOUT ROWID;"
    "CREATE TABLE vatstore (vat INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,"
    "                       checksum INTEGER NOT NULL, PRIMARY KEY (vat, key)) STRICT;"
    "CREATE TABLE transcript (vat INTEGER NOT NULL, incarnation INTEGER NOT NULL,"
    "                         position INTEGER NOT NULL, item BLOB NOT NULL,"
    "                         checksum INTEGER NOT NULL,"
    "                         PRIMARY KEY (vat, incarnation, position)) STRICT;"
    "CREATE TABLE snapshot (vat INTEGER NOT NULL, incarnation INTEGER NOT NULL,"
    "                       position INTEGER NOT NULL, hash TEXT NOT NULL,"
    "                       checksum INTEGER NOT NULL,"
    "                       PRIMARY KEY (vat, incarnation, position)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE snapshot_name (name TEXT PRIMARY KEY, hash TEXT NOT NULL,"
    "                            checksum INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE snapshot_content (hash TEXT PRIMARY KEY, size INTEGER NOT NULL,"
    "                               bytes BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT;"
    "CREATE TABLE bundle (id TEXT PRIMARY KEY, json BLOB NOT NULL, checksum INTEGER NOT NULL)"
    "  STRICT;"
    "CREATE TABLE running_sum (vat INTEGER PRIMARY KEY, items INTEGER NOT NULL,"
    "                          sum INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT;";

static int check_version(const struct store *store, int64_t version, enum schema_state *state,
                         struct error *error)
{
    *state = SCHEMA_CURRENT;
    if (version == SCHEMA_VERSION)
        return 0;
    return store_error_set(store, error, ERROR_INPUT,
                           "a store of format %lld; this gaspipe reads format %d: use the gaspipe "
                           "that made it, or another directory; if this one made it, its first "
                           "page is damaged: restore the store from a copy",
                           (long long)version, SCHEMA_VERSION);
}

/* ERROR_INPUT for a file of another program or format. */
static int schema_check(struct store *store, enum schema_state *state, struct error *error)
{
    int64_t application = 0, version = 0, tables = 0;

    if (statements_query(store, "PRAGMA application_id", &application, 1, error) != 0 ||
        statements_query(store, "PRAGMA user_version", &version, 1, error) != 0 ||
        statements_query(store, "SELECT count(*) FROM sqlite_schema", &tables, 1, error) != 0)
        return -1;
    *state = SCHEMA_EMPTY;
    if (application == 0 && tables == 0)
        return 0;
    if (application != APPLICATION_ID)
        return store_error_set(
            store, error, ERROR_INPUT,
            "not a gaspipe store (an SQLite file of another program, or its first "
            "page is damaged: then restore the store from a copy)");
    return check_version(store, version, state, error);
}

/* Creates the tables. */
static int schema_create(struct store *store, struct error *error)
{
    char pragmas[128];

    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
             APPLICATION_ID, SCHEMA_VERSION);
    if (statements_execute(store, pragmas, error) != 0)
        return -1;
    return statements_execute(store, schema, error);
}

int schema_compare(struct store *store, bool *same, struct error *error)
{
    char query[sizeof schema + 256];
    int64_t equal = 0;

    snprintf(query, sizeof query,
             "SELECT '%s' = group_concat(sql || ';', '') FROM (SELECT sql FROM sqlite_schema "
             "WHERE sql IS NOT NULL ORDER BY rowid)",
             schema);
    if (statements_query(store, query, &equal, 1, error) != 0)
        return -1;
    *same = equal == 1;
    return 0;
}

/* A reader and a writer lock each other out for moments only. */
enum { BUSY_MS = 5000, BUSY_STEP_MS = 10 };

struct store *database_new(const char *path, struct error *error)
{
    struct store *store = calloc(1, sizeof *store);

    if (store != NULL)
        store->path = strdup(path);
    if (store == NULL || store->path == NULL) {
        free(store);
        error_memory(error, "the store");
        return NULL;
    }
    store->directory_fd = store->log_fd = -1;
    (void)sem_init(&store->returned, 0, 0); /* cannot fail with these arguments */
    /* All CPUs if Linux does not say. */
    if (sched_getaffinity(0, sizeof store->cpus, &store->cpus) != 0)
        memset(&store->cpus, 0xff, sizeof store->cpus);
    return store;
}

/* SQLite calls it before try number `count` to take a lock. Returns 0 after the timeout. */
static int wait_for_lock(void *context, int count)
{
    const struct timespec step = {.tv_nsec = BUSY_STEP_MS * 1000000L};

    (void)context;
    if (count >= BUSY_MS / BUSY_STEP_MS || io_waits_are_abandoned())
        return 0;
    (void)nanosleep(&step, NULL); /* a signal that cuts it short costs nothing */
    return 1;
}

/* Refuses symbolic links, through which the lock, the log and the mark would not be next to
 * SQLite's file, and pipes and devices, whose opening might wait. */
static int check_files(const struct store *store, struct error *error)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    struct buf path = {0};
    int result = 0;

    for (size_t i = 0; i < sizeof ends / sizeof *ends && result == 0; i++) {
        buf_clear(&path);
        buf_printf(&path, "%s%s", store->path, ends[i]);
        result = buf_string(&path) != NULL ? io_check_file(path.data, error)
                                           : error_memory(error, "the store");
    }
    buf_free(&path);
    return result;
}

static int connect_database(struct store *store, int flags, struct error *error)
{
    const int code = sqlite3_open_v2(store->path, &store->database, flags, PAGE_VFS_NAME);

    if (code != SQLITE_OK)
        return store_error_set(store, error, ERROR_SYSTEM, "cannot open the store: %s",
                               store->database == NULL ? sqlite3_errstr(code)
                                                       : sqlite3_errmsg(store->database));
    /* SQLite opens a file for reading that it cannot open for writing. */
    if ((flags & SQLITE_OPEN_READWRITE) != 0 && sqlite3_db_readonly(store->database, NULL) == 1)
        return store_error_set(store, error, ERROR_SYSTEM,
                               "gaspipe cannot write it: change its permissions");
    /* Cannot fail on an open database. */
    (void)sqlite3_busy_handler(store->database, wait_for_lock, NULL);
    return 0;
}

static int open_database_file(struct store *store, int flags, struct error *error)
{
    if (check_files(store, error) != 0)
        return -1;

    /* One thread uses SQLite (struct store), so each statement need not take SQLite's locks. Fails
     * once SQLite is in use; then the first call's setting holds. */
    (void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    if (page_vfs_register(error) != 0)
        return -1;
    return connect_database(store, flags, error);
}

int database_open(struct store *store, int flags, enum schema_state *state, struct error *error)
{
    return open_database_file(store, flags, error) == 0 ? schema_check(store, state, error) : -1;
}

static int create_tables(struct store *store, struct error *error)
{
    if (statements_execute(store, "BEGIN IMMEDIATE", error) != 0 ||
        schema_create(store, error) != 0)
        return -1;
    return statements_execute(store, "COMMIT", error);
}

int database_open_temporary(struct store *store, struct error *error)
{
    if (connect_database(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error) != 0 ||
        page_vfs_reserve(store->database, error) != 0 ||
        statements_execute(store, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", error) != 0 ||
        create_tables(store, error) != 0)
        return -1;
    return statements_prepare(store, error);
}

/* Makes the names of files in its directory durable. */
static int database_sync_directory(const struct store *store, struct error *error)
{
    const char *slash = strrchr(store->path, '/');
    char *directory =
        slash == NULL ? strdup(".") : strndup(store->path, (size_t)(slash - store->path) + 1);
    const int fd = directory != NULL ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int result = -1;

    free(directory);
    if (fd >= 0)
        result = fsync(fd);
    if (result != 0)
        error_system(error, errno, "%s: cannot sync its directory", store->path);
    if (fd >= 0)
        (void)close(fd); /* nothing was written to it */
    return result;
}

/*
 * Opens the write-ahead log for store_sync(), and makes its name durable; SQLite removes the file
 * only when the last connection is closed. Then SQLite itself need not sync the log but before a
 * checkpoint. A store without a log (in memory, or where SQLite cannot have one) leaves all syncs
 * to SQLite.
 */
static int open_log(struct store *store, struct error *error)
{
    struct buf path = {0};

    buf_printf(&path, "%s-wal", store->path);
    if (buf_string(&path) == NULL) {
        buf_free(&path);
        return error_memory(error, "the store");
    }
    store->log_fd = open(path.data, O_RDONLY | O_CLOEXEC);
    buf_free(&path);
    if (store->log_fd < 0)
        return errno == ENOENT ? 0
                               : error_system(error, errno, "%s-wal: cannot open it", store->path);
    if (database_sync_directory(store, error) != 0)
        return -1;
    return statements_execute(store, "PRAGMA synchronous=NORMAL", error);
}

int database_set_up(struct store *store, enum schema_state state, struct error *error)
{
    if (state == SCHEMA_EMPTY && page_vfs_reserve(store->database, error) != 0)
        return -1;
    if (statements_execute(
            store,
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY;"
            "PRAGMA secure_delete=OFF; PRAGMA cache_size=-16384;",
            error) != 0)
        return -1;
    if (state == SCHEMA_EMPTY && create_tables(store, error) != 0)
        return -1;
    if (open_log(store, error) != 0)
        return -1;
    return statements_prepare(store, error);
}

/* Closes the database; the store can be opened again. */
static void database_close(struct store *store)
{
    statements_wait(store);
    statements_finalize(store);
    (void)sqlite3_close(store->database); /* fails only while statements are left */
    store->database = NULL;
    if (store->log_fd >= 0)
        (void)close(store->log_fd); /* it was only synced */
    store->log_fd = -1;
}

void database_free(struct store *store)
{
    bool sound;

    if (store == NULL)
        return;
    for (struct background_snapshot *at = store->background; at != NULL; at = at->next)
        at->listener.kept = NULL; /* its context may be freed */
    if (store->watch != NULL)
        store->watch->dropped(store);
    statements_wait(store);
    sound = store->database == NULL || !page_vfs_is_suspect(store->database);
    database_close(store);
    commit_mark_close(&store->mark, store->path, sound);
    if (store->directory_fd >= 0)
        (void)close(store->directory_fd);
    key_cache_clear(&store->cache);
    running_sums_clear(&store->sums);
    key_writes_free(&store->commit.keys);
    free(store->commit.sums.sums);
    buf_free(&store->scope);
    buf_free(&store->place);
    (void)sem_destroy(&store->returned); /* no thread waits */
    free(store->path);
    free(store);
}
