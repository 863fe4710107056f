/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statements.h"

#include <errno.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

#include "store/integrity/page_vfs.h"
#include "store/store_internal.h"

int(store_error_set)(const struct store *store, struct error *error, enum error_kind kind,
                     const char *format, ...)
{
    char words[ERROR_TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    return error_set(error, kind, "%s: %s", store->path, words);
}

static bool is_file_size_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* With SIGXFSZ ignored, a write beyond the limit fails with EFBIG. SQLite keeps no error number
 * where it cannot enlarge its shared memory, which is the file that grows first. */
static int input_output_error(struct store *store, const char *words, struct error *error)
{
    const int number = sqlite3_system_errno(store->database);

    if (number == EFBIG || (sqlite3_extended_errcode(store->database) == SQLITE_IOERR_SHMSIZE &&
                            is_file_size_limited()))
        return store_error_set(store, error, ERROR_SYSTEM,
                               "a file of the store would be larger than permitted (ulimit -f)");
    if (number != 0)
        return error_system(error, number, "%s: %s", store->path, words);
    return store_error_set(store, error, ERROR_SYSTEM, "%s", words);
}

int(store_error)(struct store *store, struct error *error)
{
    const char *words = sqlite3_errmsg(store->database);

    if (sqlite3_extended_errcode(store->database) == PAGE_VFS_DAMAGED) {
        store_error_set(store, error, ERROR_SYSTEM,
                        "the store is damaged: page %lld does not match its checksum: the disk or "
                        "another program changed it",
                        (long long)page_vfs_damaged());
        error->is_damage = true;
        return -1;
    }
    switch (sqlite3_errcode(store->database)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return store_error_set(store, error, ERROR_SYSTEM,
                               "the store is in use by another process");
    case SQLITE_NOTADB:
        return store_error_set(store, error, ERROR_INPUT,
                               "not a gaspipe store (no SQLite file, or its first page is damaged: "
                               "then restore the store from a copy)");
    case SQLITE_CORRUPT:
        store_error_set(store, error, ERROR_SYSTEM,
                        "the store is damaged: SQLite cannot read its tables (%s); restore the "
                        "store from a copy",
                        words);
        error->is_damage = true;
        return -1;
    case SQLITE_READONLY:
        return store_error_set(store, error, ERROR_SYSTEM,
                               "gaspipe cannot write it or its directory (%s): change their "
                               "permissions, or copy the store",
                               words);
    case SQLITE_IOERR:
        return input_output_error(store, words, error);
    default:
        return store_error_set(store, error, ERROR_SYSTEM, "%s", words);
    }
}

#define SNAPSHOT_PLACE "vat = ?1 AND incarnation = ?2 AND position = ?3"

/* All of the vat's but the ?2 last ones. */
#define OLD_SNAPSHOT                                                                               \
    "vat = ?1 AND (incarnation, position) NOT IN (SELECT incarnation, position FROM snapshot "     \
    "WHERE vat = ?1 ORDER BY incarnation DESC, position DESC LIMIT ?2)"

#define UNUSED_CONTENT                                                                             \
    "hash NOT IN (SELECT hash FROM snapshot) AND hash NOT IN (SELECT hash FROM snapshot_name)"

static const char *const statement_text[STATEMENTS] = {
    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_BEGIN_READER] = "BEGIN",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_SAVEPOINT] = "SAVEPOINT crank",
    [STATEMENT_UNDO] = "ROLLBACK TO crank",
    [STATEMENT_RELEASE] = "RELEASE crank",

    [STATEMENT_KEY_GET] = "SELECT value, checksum FROM key WHERE name = ?1",
    [STATEMENT_KEY_LOOK] = "SELECT checksum FROM key WHERE name = ?1",
    /* In a table without other indexes, REPLACE writes over the row it finds: half the work of
     * ON CONFLICT DO UPDATE, which looks first. */
    [STATEMENT_KEY_SET] = "INSERT OR REPLACE INTO key (name, value, checksum) VALUES (?1, ?2, ?3)",
    [STATEMENT_KEY_DELETE] = "DELETE FROM key WHERE name = ?1",
    [STATEMENT_KEY_FROM] = "SELECT name, value, checksum FROM key WHERE name >= ?1 "
                           "ORDER BY name LIMIT 1",
    [STATEMENT_KEY_BEHIND] = "SELECT name, value, checksum FROM key WHERE name > ?1 "
                             "ORDER BY name LIMIT 1",

    [STATEMENT_VAT_GET] = "SELECT value, checksum FROM vatstore WHERE vat = ?1 AND key = ?2",
    [STATEMENT_VAT_LOOK] = "SELECT checksum FROM vatstore WHERE vat = ?1 AND key = ?2",
    [STATEMENT_VAT_SET] = "INSERT INTO vatstore (vat, key, value, checksum) "
                          "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (vat, key) DO UPDATE "
                          "SET value = excluded.value, checksum = excluded.checksum",
    [STATEMENT_VAT_DELETE] = "DELETE FROM vatstore WHERE vat = ?1 AND key = ?2",
    [STATEMENT_VAT_NEXT_KEY] = "SELECT key FROM vatstore "
                               "WHERE vat = ?1 AND key > ?2 ORDER BY key LIMIT 1",
    [STATEMENT_VAT_LOOK_ALL] = "SELECT checksum FROM vatstore WHERE vat = ?1",
    [STATEMENT_VAT_DELETE_ALL] = "DELETE FROM vatstore WHERE vat = ?1",

    [STATEMENT_TRANSCRIPT_ADD] = "INSERT INTO transcript (vat, incarnation, position, item, "
                                 "checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
    [STATEMENT_TRANSCRIPT_GET] = "SELECT item, checksum FROM transcript "
                                 "WHERE vat = ?1 AND incarnation = ?2 AND position = ?3",
    [STATEMENT_TRANSCRIPT_LOOK] = "SELECT checksum FROM transcript "
                                  "WHERE vat = ?1 AND incarnation = ?2 AND position = ?3",
    [STATEMENT_TRANSCRIPT_FIRST] = "SELECT position FROM transcript WHERE vat = ?1 AND "
                                   "incarnation = ?2 ORDER BY position LIMIT 1",
    [STATEMENT_TRANSCRIPT_LAST] = "SELECT position FROM transcript WHERE vat = ?1 AND "
                                  "incarnation = ?2 ORDER BY position DESC LIMIT 1",
    [STATEMENT_TRANSCRIPT_LOOK_ALL] = "SELECT checksum FROM transcript WHERE vat = ?1",
    [STATEMENT_TRANSCRIPT_DELETE_ALL] = "DELETE FROM transcript WHERE vat = ?1",

    [STATEMENT_CONTENT_PUT] = "INSERT INTO snapshot_content (hash, size, bytes, checksum) "
                              "VALUES (?1, ?2, ?3, ?4)",
    [STATEMENT_CONTENT_GET] = "SELECT bytes FROM snapshot_content WHERE hash = ?1",
    [STATEMENT_CONTENT_LOOK] = "SELECT checksum FROM snapshot_content WHERE hash = ?1",
    [STATEMENT_CONTENT_SIZES] = "SELECT size, length(bytes), checksum FROM snapshot_content "
                                "WHERE hash = ?1",
    [STATEMENT_CONTENT_UNUSED] = "SELECT checksum FROM snapshot_content WHERE " UNUSED_CONTENT,
    [STATEMENT_CONTENT_SWEEP] = "DELETE FROM snapshot_content WHERE " UNUSED_CONTENT,
    [STATEMENT_SNAPSHOT_PUT] = "INSERT OR REPLACE INTO snapshot (vat, incarnation, position, "
                               "hash, checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
    [STATEMENT_SNAPSHOT_GET] = "SELECT position, hash, checksum FROM snapshot "
                               "WHERE vat = ?1 AND incarnation = ?2 "
                               "ORDER BY position DESC LIMIT 1 OFFSET ?3",
    [STATEMENT_SNAPSHOT_LOOK] = "SELECT checksum FROM snapshot WHERE " SNAPSHOT_PLACE,
    [STATEMENT_SNAPSHOT_DELETE] = "DELETE FROM snapshot WHERE " SNAPSHOT_PLACE,
    [STATEMENT_SNAPSHOT_OLD] = "SELECT checksum FROM snapshot WHERE " OLD_SNAPSHOT,
    [STATEMENT_SNAPSHOT_SWEEP] = "DELETE FROM snapshot WHERE " OLD_SNAPSHOT,
    [STATEMENT_NAMED_PUT] = "INSERT OR REPLACE INTO snapshot_name (name, hash, checksum) "
                            "VALUES (?1, ?2, ?3)",
    [STATEMENT_NAMED_GET] = "SELECT hash, checksum FROM snapshot_name WHERE name = ?1",
    [STATEMENT_NAMED_LOOK] = "SELECT checksum FROM snapshot_name WHERE name = ?1",

    [STATEMENT_BUNDLE_PUT] = "INSERT INTO bundle (id, json, checksum) VALUES (?1, ?2, ?3)",
    [STATEMENT_BUNDLE_GET] = "SELECT json, checksum FROM bundle WHERE id = ?1",
    /* Finds out only if the bundle exists: its pages may be damaged. */
    [STATEMENT_BUNDLE_LOOK] = "SELECT 1 FROM bundle WHERE id = ?1",

    [STATEMENT_VAT_SUM] = "SELECT count(*), coalesce(sum(length(key) + length(value)), 0) "
                          "FROM vatstore WHERE vat = ?1",

    [STATEMENT_SUM_GET] = "SELECT vat, items, sum, checksum FROM running_sum WHERE vat = ?1",
    [STATEMENT_SUM_ALL] = "SELECT vat, items, sum, checksum FROM running_sum ORDER BY vat",
    [STATEMENT_SUM_SET] = "INSERT OR REPLACE INTO running_sum (vat, items, sum, checksum) "
                          "VALUES (?1, ?2, ?3, ?4)",
    [STATEMENT_SUM_DELETE] = "DELETE FROM running_sum WHERE vat = ?1",
};

int statements_prepare(struct store *store, struct error *error)
{
    for (int i = 0; i < STATEMENTS; i++) {
        if (sqlite3_prepare_v3(store->database, statement_text[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &store->statements[i], NULL) != SQLITE_OK)
            return store_error(store, error);
    }
    return 0;
}

void statements_finalize(struct store *store)
{
    for (int i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(store->statements[i]);
        store->statements[i] = NULL;
    }
}

/* ---- whose the database is ---- */

/* The store whose commit this thread writes; NULL: none. */
static _Thread_local const struct store *taken;

void statements_lend(struct store *store)
{
    store->lent = true;
}

void statements_take(const struct store *store)
{
    taken = store;
}

void statements_return(struct store *store)
{
    taken = NULL;
    (void)sem_post(&store->returned); /* cannot fail: it is posted once for each loan */
}

/* Reads `lent` in the owner's thread only. */
void statements_wait(struct store *store)
{
    if (taken == store || !store->lent)
        return;
    while (sem_wait(&store->returned) != 0) { /* interrupted by a signal */
    }
    store->lent = false;
}

int statements_check_commit(struct store *store, struct error *error)
{
    statements_wait(store);
    if (store->commit_error.kind != ERROR_NONE)
        *error = store->commit_error;
    return store->commit_error.kind != ERROR_NONE ? -1 : 0;
}

/* ---- the transaction ---- */

static bool is_control(enum statement which)
{
    return which <= STATEMENT_RELEASE;
}

int statements_begin(struct store *store, struct error *error)
{
    if (store->sqlite_begun)
        return 0;
    if (statement_run(store, store->reads_only ? STATEMENT_BEGIN_READER : STATEMENT_BEGIN, error) !=
        0)
        return -1;
    store->sqlite_begun = true;
    return 0;
}

/* Checks the last commit, and begins as above if the store's transaction has begun; before any
 * other use of the database. */
static int statements_enter(struct store *store, struct error *error)
{
    if (statements_check_commit(store, error) != 0)
        return -1;
    return store->begun ? statements_begin(store, error) : 0;
}

static int set_sqlite_savepoints(struct store *store, struct error *error)
{
    while (store->sqlite_savepoints < store->cache.savepoint_count) {
        if (statement_run(store, STATEMENT_SAVEPOINT, error) != 0)
            return -1;
        store->sqlite_savepoints++;
    }
    return 0;
}

/* In the thread that writes a commit, the transaction is one that the owner has ended. */
static int get_ready(struct store *store, enum statement which, struct error *error)
{
    if (is_control(which) || taken == store)
        return 0;
    if (statements_enter(store, error) != 0)
        return -1;
    return sqlite3_stmt_readonly(store->statements[which]) ? 0
                                                           : set_sqlite_savepoints(store, error);
}

/* ---- statements ---- */

int statements_execute(struct store *store, const char *text, struct error *error)
{
    statements_wait(store);
    if (sqlite3_exec(store->database, text, NULL, NULL, NULL) != SQLITE_OK)
        return store_error(store, error);
    return 0;
}

int statements_prepare_one(struct store *store, const char *text, sqlite3_stmt **statement,
                           struct error *error)
{
    if (statements_enter(store, error) != 0)
        return -1;
    if (sqlite3_prepare_v2(store->database, text, -1, statement, NULL) != SQLITE_OK)
        return store_error(store, error);
    return 0;
}

int statements_query(struct store *store, const char *text, int64_t *numbers, int count,
                     struct error *error)
{
    sqlite3_stmt *statement;
    int result = 0;

    if (statements_prepare_one(store, text, &statement, error) != 0)
        return -1;
    if (sqlite3_step(statement) != SQLITE_ROW)
        result = store_error(store, error);
    for (int i = 0; result == 0 && i < count; i++)
        numbers[i] = sqlite3_column_int64(statement, i);
    sqlite3_finalize(statement);
    return result;
}

static void note_bound(struct store *store, int result)
{
    if (result != SQLITE_OK)
        store->bind_result = result;
}

void statement_bind_integer(struct store *store, enum statement which, int index, int64_t number)
{
    statements_wait(store);
    note_bound(store, sqlite3_bind_int64(store->statements[which], index, number));
}

void statement_bind_blob(struct store *store, enum statement which, int index, struct iovec bytes)
{
    statements_wait(store);
    /* An empty blob still wants an address: NULL would be SQL's NULL. */
    note_bound(store, sqlite3_bind_blob64(store->statements[which], index,
                                          bytes.iov_len > 0 ? bytes.iov_base : "", bytes.iov_len,
                                          SQLITE_STATIC));
}

void statement_bind_text(struct store *store, enum statement which, int index, struct iovec text)
{
    statements_wait(store);
    note_bound(store, sqlite3_bind_text64(store->statements[which], index,
                                          text.iov_len > 0 ? text.iov_base : "", text.iov_len,
                                          SQLITE_STATIC, SQLITE_UTF8));
}

int statement_step(struct store *store, enum statement which, bool *row, struct error *error)
{
    int bound, code;

    *row = false;
    if (get_ready(store, which, error) != 0)
        return -1;
    bound = store->bind_result;
    store->bind_result = SQLITE_OK;
    if (bound != SQLITE_OK)
        return store_error_set(store, error, ERROR_SYSTEM, "%s", sqlite3_errstr(bound));
    code = sqlite3_step(store->statements[which]);
    *row = code == SQLITE_ROW;
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return 0;
    return store_error(store, error);
}

int64_t statement_integer(struct store *store, enum statement which, int column)
{
    return sqlite3_column_int64(store->statements[which], column);
}

struct iovec statement_bytes(struct store *store, enum statement which, int column)
{
    sqlite3_stmt *statement = store->statements[which];
    const void *bytes = sqlite3_column_blob(statement, column);

    return (struct iovec){(void *)bytes, (size_t)sqlite3_column_bytes(statement, column)};
}

void statement_done(struct store *store, enum statement which)
{
    /* Repeats what the last step returned, which was looked at. */
    (void)sqlite3_reset(store->statements[which]);
    (void)sqlite3_clear_bindings(store->statements[which]);
}

int statement_run(struct store *store, enum statement which, struct error *error)
{
    bool row;
    int result = statement_step(store, which, &row, error);

    statement_done(store, which);
    return result;
}
