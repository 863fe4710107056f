/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/store.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* "gasp" in the file's header (PRAGMA application_id) tells our files from others. */
#define APPLICATION_ID 0x67617370
#define FORMAT_VERSION 1

enum statement {
    STATEMENT_BEGIN,
    STATEMENT_COMMIT,
    STATEMENT_MARK,
    STATEMENT_UNDO,
    STATEMENT_FIND_VAT,
    STATEMENT_ADD_VAT,
    STATEMENT_CRANK_NEXT,
    STATEMENT_COUNT_CRANK,
    STATEMENT_COUNT_DELIVERY,
    STATEMENT_GET,
    STATEMENT_SET,
    STATEMENT_DELETE,
    STATEMENT_NEXT_KEY,
    STATEMENTS,
};

static const char *const statement_text[STATEMENTS] = {
    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_MARK] = "SAVEPOINT delivery",
    [STATEMENT_UNDO] = "ROLLBACK TO delivery",
    [STATEMENT_FIND_VAT] = "SELECT id, delivery_next FROM vat WHERE name = ?1",
    [STATEMENT_ADD_VAT] = "INSERT INTO vat (name, delivery_next) VALUES (?1, 1)",
    [STATEMENT_CRANK_NEXT] = "SELECT next FROM crank",
    [STATEMENT_COUNT_CRANK] = "UPDATE crank SET next = next + 1",
    [STATEMENT_COUNT_DELIVERY] = "UPDATE vat SET delivery_next = delivery_next + 1 WHERE id = ?1",
    [STATEMENT_GET] = "SELECT value FROM vatstore WHERE vat = ?1 AND key = ?2",
    [STATEMENT_SET] = ("INSERT INTO vatstore (vat, key, value) VALUES (?1, ?2, ?3) "
                       "ON CONFLICT (vat, key) DO UPDATE SET value = ?3"),
    [STATEMENT_DELETE] = "DELETE FROM vatstore WHERE vat = ?1 AND key = ?2",
    [STATEMENT_NEXT_KEY] =
        "SELECT key FROM vatstore WHERE vat = ?1 AND key > ?2 ORDER BY key LIMIT 1",
};

/* Keys and values are blobs: compared byte by byte, and free to hold '\0'. */
static const char schema[] =
    "CREATE TABLE vat (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    "                  delivery_next INTEGER NOT NULL) STRICT;"
    "CREATE TABLE vatstore (vat INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,"
    "                       PRIMARY KEY (vat, key)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE crank (next INTEGER NOT NULL) STRICT;"
    "INSERT INTO crank VALUES (0);";

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENTS];
    char *path; /* for words */
};

static int store_error(struct store *store, struct error *error)
{
    int code = sqlite3_errcode(store->database);

    switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(error, ERROR_SYSTEM, "%s: the store is in use by another process",
                         store->path);
    case SQLITE_NOTADB:
        return error_set(error, ERROR_INPUT, "%s: not a gaspipe store (no SQLite file)",
                         store->path);
    case SQLITE_CORRUPT:
        return error_set(error, ERROR_SYSTEM, "%s: the store is damaged: %s", store->path,
                         sqlite3_errmsg(store->database));
    default:
        return error_set(error, ERROR_SYSTEM, "%s: %s", store->path,
                         sqlite3_errmsg(store->database));
    }
}

static int execute(struct store *store, const char *text, struct error *error)
{
    if (sqlite3_exec(store->database, text, NULL, NULL, NULL) != SQLITE_OK)
        return store_error(store, error);
    return 0;
}

static int query_number(struct store *store, const char *text, int64_t *number, struct error *error)
{
    sqlite3_stmt *statement;
    int result = 0;

    if (sqlite3_prepare_v2(store->database, text, -1, &statement, NULL) != SQLITE_OK)
        return store_error(store, error);
    if (sqlite3_step(statement) == SQLITE_ROW)
        *number = sqlite3_column_int64(statement, 0);
    else
        result = store_error(store, error);
    sqlite3_finalize(statement);
    return result;
}

static int create_schema(struct store *store, struct error *error)
{
    char pragmas[128];

    sqlite3_snprintf(sizeof pragmas, pragmas, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
                     APPLICATION_ID, FORMAT_VERSION);
    if (execute(store, pragmas, error) != 0)
        return -1;
    return execute(store, schema, error);
}

/* Takes a new file into use; refuses one that holds something else. */
static int check_schema(struct store *store, struct error *error)
{
    int64_t application = 0, version = 0, tables = 0;

    if (query_number(store, "PRAGMA application_id", &application, error) != 0 ||
        query_number(store, "PRAGMA user_version", &version, error) != 0 ||
        query_number(store, "SELECT count(*) FROM sqlite_schema", &tables, error) != 0)
        return -1;
    if (application == 0 && tables == 0)
        return create_schema(store, error);
    if (application != APPLICATION_ID)
        return error_set(error, ERROR_INPUT,
                         "%s: not a gaspipe store (an SQLite file of another "
                         "program)",
                         store->path);
    if (version != FORMAT_VERSION)
        return error_set(error, ERROR_INPUT, "%s: a store of format %lld; this gaspipe reads %d",
                         store->path, (long long)version, FORMAT_VERSION);
    return 0;
}

/* The lock is taken with the first transaction and held until the store is closed. */
static int set_up(struct store *store, struct error *error)
{
    if (execute(store,
                "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                "BEGIN IMMEDIATE;",
                error) != 0 ||
        check_schema(store, error) != 0 || execute(store, "COMMIT", error) != 0)
        return -1;
    for (int i = 0; i < STATEMENTS; i++) {
        if (sqlite3_prepare_v3(store->database, statement_text[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &store->statements[i], NULL) != SQLITE_OK)
            return store_error(store, error);
    }
    return 0;
}

static int choose_path(struct store *store, const char *folder, struct error *error)
{
    struct buf path = {0};

    if (folder != NULL && mkdir(folder, 0777) != 0 && errno != EEXIST)
        return error_system(error, errno, "%s: cannot make the store's folder", folder);
    if (folder != NULL)
        buf_printf(&path, "%s/gaspipe.sqlite", folder);
    else
        buf_append_string(&path, ":memory:");
    if (buf_string(&path) == NULL) {
        buf_free(&path);
        return error_memory(error, "the store");
    }
    store->path = path.data;
    return 0;
}

struct store *store_open(const char *folder, struct error *error)
{
    struct store *store = calloc(1, sizeof *store);

    if (store == NULL) {
        error_memory(error, "the store");
        return NULL;
    }
    if (choose_path(store, folder, error) != 0)
        goto fail;
    if (sqlite3_open(store->path, &store->database) != SQLITE_OK) {
        error_set(error, ERROR_SYSTEM, "%s: cannot open the store: %s", store->path,
                  sqlite3_errmsg(store->database));
        goto fail;
    }
    if (set_up(store, error) != 0)
        goto fail;
    return store;
fail:
    store_close(store);
    return NULL;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(store->statements[i]);
    sqlite3_close(store->database);
    free(store->path);
    free(store);
}

/* Runs a statement that was bound; *row tells whether it gave one. The caller
 * resets it after reading the row. */
static int step(struct store *store, enum statement which, bool *row, struct error *error)
{
    int code = sqlite3_step(store->statements[which]);

    *row = code == SQLITE_ROW;
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return 0;
    return store_error(store, error);
}

/* For statements that give no row. */
static int run(struct store *store, enum statement which, struct error *error)
{
    bool row;
    int result = step(store, which, &row, error);

    sqlite3_reset(store->statements[which]);
    sqlite3_clear_bindings(store->statements[which]);
    return result;
}

int store_begin(struct store *store, struct error *error)
{
    return run(store, STATEMENT_BEGIN, error);
}

int store_commit(struct store *store, struct error *error)
{
    return run(store, STATEMENT_COMMIT, error);
}

void store_rollback(struct store *store)
{
    /* A failed rollback leaves nothing committed either. */
    if (sqlite3_get_autocommit(store->database) == 0)
        (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
}

int store_mark(struct store *store, struct error *error)
{
    return run(store, STATEMENT_MARK, error);
}

int store_undo(struct store *store, struct error *error)
{
    return run(store, STATEMENT_UNDO, error);
}

static void bind_blob(sqlite3_stmt *statement, int index, struct iovec bytes)
{
    /* An empty blob still wants an address: NULL would be SQL's NULL. */
    sqlite3_bind_blob64(statement, index, bytes.iov_len > 0 ? bytes.iov_base : "", bytes.iov_len,
                        SQLITE_STATIC);
}

static int find_vat(struct store *store, const char *name, struct store_vat *vat, bool *found,
                    struct error *error)
{
    sqlite3_stmt *statement = store->statements[STATEMENT_FIND_VAT];
    int result;

    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    result = step(store, STATEMENT_FIND_VAT, found, error);
    if (*found) {
        vat->id = sqlite3_column_int64(statement, 0);
        vat->delivery_next = sqlite3_column_int64(statement, 1);
    }
    sqlite3_reset(statement);
    return result;
}

int store_provide_vat(struct store *store, const char *name, struct store_vat *vat,
                      struct error *error)
{
    bool found = false;

    if (find_vat(store, name, vat, &found, error) != 0)
        return -1;
    if (found)
        return 0;
    sqlite3_bind_text(store->statements[STATEMENT_ADD_VAT], 1, name, -1, SQLITE_STATIC);
    if (run(store, STATEMENT_ADD_VAT, error) != 0)
        return -1;
    vat->id = sqlite3_last_insert_rowid(store->database);
    vat->delivery_next = 1;
    return 0;
}

int store_crank_next(struct store *store, int64_t *crank_num, struct error *error)
{
    bool row = false;
    int result = step(store, STATEMENT_CRANK_NEXT, &row, error);

    if (row)
        *crank_num = sqlite3_column_int64(store->statements[STATEMENT_CRANK_NEXT], 0);
    sqlite3_reset(store->statements[STATEMENT_CRANK_NEXT]);
    if (result == 0 && !row)
        return error_set(error, ERROR_INPUT, "%s: the store has lost its crank number",
                         store->path);
    return result;
}

int store_count_delivery(struct store *store, int64_t vat_id, struct error *error)
{
    if (run(store, STATEMENT_COUNT_CRANK, error) != 0)
        return -1;
    sqlite3_bind_int64(store->statements[STATEMENT_COUNT_DELIVERY], 1, vat_id);
    return run(store, STATEMENT_COUNT_DELIVERY, error);
}

/* One blob that a bound statement gives, or none. */
static int take_blob(struct store *store, enum statement which, struct buf *bytes, bool *found,
                     struct error *error)
{
    sqlite3_stmt *statement = store->statements[which];
    int result = step(store, which, found, error);

    if (*found && buf_append(bytes, sqlite3_column_blob(statement, 0),
                             (size_t)sqlite3_column_bytes(statement, 0)) != 0)
        result = error_memory(error, "a value of the store");
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return result;
}

static sqlite3_stmt *bind_key(struct store *store, enum statement which, int64_t vat_id,
                              struct iovec key)
{
    sqlite3_stmt *statement = store->statements[which];

    sqlite3_bind_int64(statement, 1, vat_id);
    bind_blob(statement, 2, key);
    return statement;
}

int store_get(struct store *store, int64_t vat_id, struct iovec key, struct buf *value, bool *found,
              struct error *error)
{
    bind_key(store, STATEMENT_GET, vat_id, key);
    return take_blob(store, STATEMENT_GET, value, found, error);
}

int store_set(struct store *store, int64_t vat_id, struct iovec key, struct iovec value,
              struct error *error)
{
    bind_blob(bind_key(store, STATEMENT_SET, vat_id, key), 3, value);
    return run(store, STATEMENT_SET, error);
}

int store_delete(struct store *store, int64_t vat_id, struct iovec key, struct error *error)
{
    bind_key(store, STATEMENT_DELETE, vat_id, key);
    return run(store, STATEMENT_DELETE, error);
}

int store_next_key(struct store *store, int64_t vat_id, struct iovec key, struct buf *next,
                   bool *found, struct error *error)
{
    bind_key(store, STATEMENT_NEXT_KEY, vat_id, key);
    return take_blob(store, STATEMENT_NEXT_KEY, next, found, error);
}
