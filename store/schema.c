/* SPDX-License-Identifier: Apache-2.0 */
#include <sqlite3.h>

#include "store/store_internal.h"

/* "gasp" in the file's header (PRAGMA application_id) tells our files from others. */
#define APPLICATION_ID 0x67617370
#define FORMAT_VERSION 2

/*
 * Values, and the keys of vats, are blobs: compared byte by byte, and free to
 * hold '\0'. A snapshot's content stands in a table of its own, so that looking
 * for a name or a vat does not read over it.
 */
static const char schema[] =
    "CREATE TABLE key (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE vatstore (vat INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,"
    "                       PRIMARY KEY (vat, key)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE transcript (vat INTEGER NOT NULL, incarnation INTEGER NOT NULL,"
    "                         position INTEGER NOT NULL, item BLOB NOT NULL,"
    "                         PRIMARY KEY (vat, incarnation, position)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE snapshot (vat INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL,"
    "                       position INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;"
    "CREATE TABLE snapshot_name (name TEXT PRIMARY KEY, hash TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE snapshot_content (hash TEXT PRIMARY KEY, size INTEGER NOT NULL,"
    "                               bytes BLOB NOT NULL) STRICT;"
    "CREATE TABLE bundle (id TEXT PRIMARY KEY, json BLOB NOT NULL) STRICT;";

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

int schema_check(struct store *store, bool *empty, struct error *error)
{
    int64_t application = 0, version = 0, tables = 0;

    if (query_number(store, "PRAGMA application_id", &application, error) != 0 ||
        query_number(store, "PRAGMA user_version", &version, error) != 0 ||
        query_number(store, "SELECT count(*) FROM sqlite_schema", &tables, error) != 0)
        return -1;
    *empty = application == 0 && tables == 0;
    if (*empty)
        return 0;
    if (application != APPLICATION_ID)
        return error_set(error, ERROR_INPUT,
                         "%s: not a gaspipe store (an SQLite file of another program)",
                         store->path);
    if (version != FORMAT_VERSION)
        return error_set(error, ERROR_INPUT,
                         "%s: a store of format %lld; this gaspipe reads %d: use the gaspipe that "
                         "made it, or another folder",
                         store->path, (long long)version, FORMAT_VERSION);
    return 0;
}

int schema_create(struct store *store, struct error *error)
{
    char pragmas[128];

    sqlite3_snprintf(sizeof pragmas, pragmas, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
                     APPLICATION_ID, FORMAT_VERSION);
    if (sqlite3_exec(store->database, pragmas, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(store->database, schema, NULL, NULL, NULL) != SQLITE_OK)
        return store_error(store, error);
    return 0;
}
