/* SPDX-License-Identifier: Apache-2.0 */
#include "store/format/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "store/format/database.h"
#include "store/snapshot/snapshot_records.h"
#include "store/store.h"
#include "store/store_error.h"
#include "store/store_internal.h"

/* ---- the rows ---- */

static struct iovec bytes_at(sqlite3_stmt *row, int column)
{
    const void *bytes = sqlite3_column_blob(row, column);

    return (struct iovec){(void *)(uintptr_t)bytes, (size_t)sqlite3_column_bytes(row, column)};
}

static const char *text_at(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static int copy_key(struct store *store, sqlite3_stmt *row, struct error *error)
{
    return store_key_set(store, text_at(row, 0), bytes_at(row, 1), error);
}

static int copy_vatstore(struct store *store, sqlite3_stmt *row, struct error *error)
{
    return store_vat_set(store, sqlite3_column_int64(row, 0), bytes_at(row, 1), bytes_at(row, 2),
                         error);
}

static int copy_transcript(struct store *store, sqlite3_stmt *row, struct error *error)
{
    return store_transcript_add(store, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                                sqlite3_column_int64(row, 2), bytes_at(row, 3), error);
}

static int copy_snapshot(struct store *store, sqlite3_stmt *row, struct error *error)
{
    const struct row record = {.table = ROW_SNAPSHOT,
                               .numbers = {sqlite3_column_int64(row, 0),
                                           sqlite3_column_int64(row, 1),
                                           sqlite3_column_int64(row, 2)},
                               .value = bytes_at(row, 3)};

    return snapshot_record_put(store, &record, error);
}

static int copy_named(struct store *store, sqlite3_stmt *row, struct error *error)
{
    const struct row record = {
        .table = ROW_NAMED, .key = bytes_at(row, 0), .value = bytes_at(row, 1)};

    return snapshot_record_put(store, &record, error);
}

static int copy_content(struct store *store, sqlite3_stmt *row, struct error *error)
{
    const struct iovec bytes = bytes_at(row, 2);
    struct store_snapshot snapshot = {.size = sqlite3_column_int64(row, 1),
                                      .compressed_size = (int64_t)bytes.iov_len};

    snprintf(snapshot.hash, sizeof snapshot.hash, "%s", text_at(row, 0));
    return snapshot_content_put(store, &snapshot, bytes, error);
}

static int copy_bundle(struct store *store, sqlite3_stmt *row, struct error *error)
{
    return store_bundle_put(store, text_at(row, 0), bytes_at(row, 1), error);
}

static const struct {
    const char *query;
    int (*copy)(struct store *store, sqlite3_stmt *row, struct error *error);
} tables[] = {
    {"SELECT name, value FROM key", copy_key},
    {"SELECT vat, key, value FROM vatstore", copy_vatstore},
    {"SELECT vat, incarnation, position, item FROM transcript", copy_transcript},
    {"SELECT vat, incarnation, position, hash FROM snapshot", copy_snapshot},
    {"SELECT name, hash FROM snapshot_name", copy_named},
    {"SELECT hash, size, bytes FROM snapshot_content", copy_content},
    {"SELECT id, json FROM bundle", copy_bundle},
};

/* ---- from one file to the other ---- */

static int copy_table(struct store *old, struct store *store, size_t table, struct error *error)
{
    sqlite3_stmt *row;
    int result = 0, code;

    if (sqlite3_prepare_v2(old->database, tables[table].query, -1, &row, NULL) != SQLITE_OK)
        return store_error(old, error);
    while (result == 0 && (code = sqlite3_step(row)) == SQLITE_ROW)
        result = tables[table].copy(store, row, error);
    if (result == 0 && code != SQLITE_DONE)
        result = store_error(old, error);
    sqlite3_finalize(row);
    return result;
}

static int copy_all(struct store *old, struct store *store, struct error *error)
{
    if (store_transaction_begin(store, error) != 0)
        return -1;
    for (size_t table = 0; table < sizeof tables / sizeof *tables; table++)
        if (copy_table(old, store, table, error) != 0)
            return -1;
    return store_transaction_commit(store, error);
}

/* Without its write-ahead log, which would be taken for the new file's; and not a damaged one. */
static int open_old(struct store *old, struct error *error)
{
    enum schema_state state;
    int64_t problems;

    if (database_open(old, SQLITE_OPEN_READWRITE, &state, error) != 0 ||
        statements_execute(old, "PRAGMA journal_mode=DELETE", error) != 0 ||
        statements_query(
            old, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
            &problems, 1, error) != 0)
        return -1;
    if (problems != 0)
        return store_error_set(old, error, ERROR_SYSTEM,
                               "the store is damaged (see sqlite3 FILE 'PRAGMA integrity_check')");
    return 0;
}

static int open_new(struct store *store, struct error *error)
{
    enum schema_state state;

    if (unlink(store->path) != 0 && errno != ENOENT)
        return error_system(error, errno, "%s: cannot remove it", store->path);
    if (database_open(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &state, error) != 0)
        return -1;
    return database_set_up(store, state, error);
}

static int convert(struct store *old, struct store *store, struct error *error)
{
    if (open_old(old, error) != 0 || open_new(store, error) != 0 ||
        copy_all(old, store, error) != 0)
        return -1;
    database_close(old);
    database_close(store); /* which empties its write-ahead log */
    if (rename(store->path, old->path) != 0)
        return error_system(error, errno, "%s: cannot take its new form", old->path);
    return database_sync_folder(old, error);
}

int convert_store(const char *path, struct error *error)
{
    struct buf new_path = {0};
    struct store *old = NULL, *store = NULL;
    int result = -1;

    buf_printf(&new_path, "%s.new", path);
    if (buf_string(&new_path) == NULL) {
        error_memory(error, "the store");
        goto out;
    }
    old = database_new(path, error);
    store = old != NULL ? database_new(new_path.data, error) : NULL;
    if (store != NULL)
        result = convert(old, store, error);
    if (result == 0)
        log_line("%s: converted from format %d to %d, in which rows and pages have checksums", path,
                 SCHEMA_VERSION_OLD, SCHEMA_VERSION);
    else
        error_prefix(error, "a store of format %d cannot be converted", SCHEMA_VERSION_OLD);
out:
    database_free(store);
    database_free(old);
    buf_free(&new_path);
    return result;
}
