/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statements.h"

#include <sqlite3.h>

#include "store/store_error.h"
#include "store/store_internal.h"

static const char *const statement_text[STATEMENTS] = {
    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_BEGIN_READER] = "BEGIN",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_SAVEPOINT] = "SAVEPOINT crank",
    [STATEMENT_UNDO] = "ROLLBACK TO crank",
    [STATEMENT_RELEASE] = "RELEASE crank",

    [STATEMENT_KEY_GET] = "SELECT value FROM key WHERE name = ?1",
    [STATEMENT_KEY_SET] = "INSERT INTO key (name, value) VALUES (?1, ?2) "
                          "ON CONFLICT (name) DO UPDATE SET value = ?2",
    [STATEMENT_KEY_DELETE] = "DELETE FROM key WHERE name = ?1",
    [STATEMENT_KEY_FROM] = "SELECT name FROM key WHERE name >= ?1 ORDER BY name LIMIT 1",
    [STATEMENT_KEY_BEHIND] = "SELECT name FROM key WHERE name > ?1 ORDER BY name LIMIT 1",

    [STATEMENT_VAT_GET] = "SELECT value FROM vatstore WHERE vat = ?1 AND key = ?2",
    [STATEMENT_VAT_SET] = "INSERT INTO vatstore (vat, key, value) VALUES (?1, ?2, ?3) "
                          "ON CONFLICT (vat, key) DO UPDATE SET value = ?3",
    [STATEMENT_VAT_DELETE] = "DELETE FROM vatstore WHERE vat = ?1 AND key = ?2",
    [STATEMENT_VAT_NEXT_KEY] = "SELECT key FROM vatstore WHERE vat = ?1 AND key > ?2 "
                               "ORDER BY key LIMIT 1",
    [STATEMENT_VAT_DELETE_ALL] = "DELETE FROM vatstore WHERE vat = ?1",

    [STATEMENT_TRANSCRIPT_ADD] = "INSERT INTO transcript (vat, incarnation, position, item) "
                                 "VALUES (?1, ?2, ?3, ?4)",
    [STATEMENT_TRANSCRIPT_GET] = "SELECT item FROM transcript "
                                 "WHERE vat = ?1 AND incarnation = ?2 AND position = ?3",
    [STATEMENT_TRANSCRIPT_FIRST] = "SELECT position FROM transcript WHERE vat = ?1 AND "
                                   "incarnation = ?2 ORDER BY position LIMIT 1",
    [STATEMENT_TRANSCRIPT_LAST] = "SELECT position FROM transcript WHERE vat = ?1 AND "
                                  "incarnation = ?2 ORDER BY position DESC LIMIT 1",
    [STATEMENT_TRANSCRIPT_DELETE_ALL] = "DELETE FROM transcript WHERE vat = ?1",

    [STATEMENT_CONTENT_PUT] = "INSERT INTO snapshot_content (hash, size, bytes) "
                              "VALUES (?1, ?2, ?3) ON CONFLICT (hash) DO NOTHING",
    [STATEMENT_CONTENT_GET] = "SELECT bytes FROM snapshot_content WHERE hash = ?1",
    [STATEMENT_CONTENT_SIZES] = "SELECT size, length(bytes) FROM snapshot_content WHERE hash = ?1",
    [STATEMENT_CONTENT_SWEEP] = "DELETE FROM snapshot_content WHERE "
                                "hash NOT IN (SELECT hash FROM snapshot) AND "
                                "hash NOT IN (SELECT hash FROM snapshot_name)",
    [STATEMENT_SNAPSHOT_PUT] = "INSERT OR REPLACE INTO snapshot (vat, incarnation, position, hash) "
                               "VALUES (?1, ?2, ?3, ?4)",
    [STATEMENT_SNAPSHOT_GET] = "SELECT position, hash FROM snapshot "
                               "WHERE vat = ?1 AND incarnation = ?2",
    [STATEMENT_SNAPSHOT_DELETE] = "DELETE FROM snapshot WHERE vat = ?1",
    [STATEMENT_NAMED_PUT] = "INSERT OR REPLACE INTO snapshot_name (name, hash) VALUES (?1, ?2)",
    [STATEMENT_NAMED_GET] = "SELECT hash FROM snapshot_name WHERE name = ?1",

    [STATEMENT_BUNDLE_PUT] = "INSERT INTO bundle (id, json) VALUES (?1, ?2) "
                             "ON CONFLICT (id) DO NOTHING",
    [STATEMENT_BUNDLE_GET] = "SELECT json FROM bundle WHERE id = ?1",

    [STATEMENT_VAT_SUM] = "SELECT count(*), coalesce(sum(length(key) + length(value)), 0) "
                          "FROM vatstore WHERE vat = ?1",
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
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(store->statements[i]);
}

int statements_execute(struct store *store, const char *text, struct error *error)
{
    if (sqlite3_exec(store->database, text, NULL, NULL, NULL) != SQLITE_OK)
        return store_error(store, error);
    return 0;
}

int statements_query(struct store *store, const char *text, int64_t *numbers, int count,
                     struct error *error)
{
    sqlite3_stmt *statement;
    int result = 0;

    if (sqlite3_prepare_v2(store->database, text, -1, &statement, NULL) != SQLITE_OK)
        return store_error(store, error);
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
    note_bound(store, sqlite3_bind_int64(store->statements[which], index, number));
}

void statement_bind_blob(struct store *store, enum statement which, int index, struct iovec bytes)
{
    /* An empty blob still wants an address: NULL would be SQL's NULL. */
    note_bound(store, sqlite3_bind_blob64(store->statements[which], index,
                                          bytes.iov_len > 0 ? bytes.iov_base : "", bytes.iov_len,
                                          SQLITE_STATIC));
}

void statement_bind_text(struct store *store, enum statement which, int index, const char *text)
{
    note_bound(store, sqlite3_bind_text(store->statements[which], index, text, -1, SQLITE_STATIC));
}

int statement_step(struct store *store, enum statement which, bool *row, struct error *error)
{
    int bound = store->bind_result;
    int code;

    *row = false;
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

int statement_take_blob(struct store *store, enum statement which, struct buf *bytes, bool *found,
                        struct error *error)
{
    int result = statement_step(store, which, found, error);

    if (*found) {
        struct iovec blob = statement_bytes(store, which, 0);

        if (buf_append(bytes, blob.iov_base, blob.iov_len) != 0)
            result = error_memory(error, "a value of the store");
    }
    statement_done(store, which);
    return result;
}
