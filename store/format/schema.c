/* SPDX-License-Identifier: Apache-2.0 */
#include "store/format/schema.h"

#include <stdint.h>
#include <stdio.h>

#include "store/statements.h"
#include "store/store_error.h"

/* "gasp" in the file's header (PRAGMA application_id) tells our files from others. */
#define APPLICATION_ID 0x67617370

/*
 * Values, and the keys of vats, are blobs: compared byte by byte, and free to
 * hold '\0'. A snapshot's content stands in a table of its own, so that looking
 * for a name or a vat does not read over it; with row numbers, so that looking for one content does
 * not read others, which may be damaged. Checksums are those of integrity/row.h.
 */
static const char schema[] =
    "CREATE TABLE key (name TEXT PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL)"
    "  STRICT, WITHOUT ROWID;"
    "CREATE TABLE vatstore (vat INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,"
    "                       checksum INTEGER NOT NULL, PRIMARY KEY (vat, key))"
    "  STRICT, WITHOUT ROWID;"
    "CREATE TABLE transcript (vat INTEGER NOT NULL, incarnation INTEGER NOT NULL,"
    "                         position INTEGER NOT NULL, item BLOB NOT NULL,"
    "                         checksum INTEGER NOT NULL,"
    "                         PRIMARY KEY (vat, incarnation, position)) STRICT, WITHOUT ROWID;"
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
                           "that made it, or another directory",
                           (long long)version, SCHEMA_VERSION);
}

int schema_check(struct store *store, enum schema_state *state, struct error *error)
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
        return store_error_set(store, error, ERROR_INPUT,
                               "not a gaspipe store (an SQLite file of another program)");
    return check_version(store, version, state, error);
}

int schema_create(struct store *store, struct error *error)
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
