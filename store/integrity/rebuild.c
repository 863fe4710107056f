/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/check.h"

#include <sqlite3.h>
#include <stdio.h>

#include "store/format/database.h"
#include "store/integrity/page_vfs.h"
#include "store/statements.h"
#include "store/store_internal.h"

/*
 *   store's file --- rows, read without indexes ---> temporary file --- pages ---> store's file
 *
 * The hazard: a row that the damage hides would be lost for good. So the pages are copied back only
 * if the temporary file has all rows that the running hashes count. SQLite writes them in one
 * transaction, so that a crash leaves the file as it was.
 */

static const char *const table_names[] = {
    "key",           "vatstore",         "transcript", "snapshot",
    "snapshot_name", "snapshot_content", "bundle",     "running_sum",
};

static int bind_columns(sqlite3_stmt *from, sqlite3_stmt *to)
{
    int code = SQLITE_OK;

    for (int i = 0; code == SQLITE_OK && i < sqlite3_column_count(from); i++)
        code = sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
    return code;
}

static bool copy_rows(sqlite3_stmt *from, sqlite3_stmt *to)
{
    int code;

    while ((code = sqlite3_step(from)) == SQLITE_ROW)
        if (bind_columns(from, to) != SQLITE_OK || sqlite3_step(to) != SQLITE_DONE ||
            sqlite3_reset(to) != SQLITE_OK)
            return false;
    return code == SQLITE_DONE;
}

static bool copy_table(struct store *from, struct store *to, const char *table)
{
    char select[80], insert[80];
    sqlite3_stmt *reading, *writing;
    struct error ignored; /* says only that there is damage, which is known */
    bool copied = false;

    snprintf(select, sizeof select, "SELECT * FROM %s NOT INDEXED", table);
    if (statements_prepare_one(from, select, &reading, &ignored) != 0)
        return false;
    snprintf(insert, sizeof insert, "INSERT INTO %s VALUES (?1%s%s)", table,
             sqlite3_column_count(reading) > 3 ? ", ?2, ?3, ?4" : ", ?2, ?3",
             sqlite3_column_count(reading) > 4 ? ", ?5" : "");
    if (statements_prepare_one(to, insert, &writing, &ignored) == 0) {
        copied = copy_rows(reading, writing);
        (void)sqlite3_finalize(writing); /* a failed step was seen */
    }
    (void)sqlite3_finalize(reading); /* likewise */
    return copied;
}

static bool copy_tables(struct store *from, struct store *to)
{
    for (size_t i = 0; i < sizeof table_names / sizeof *table_names; i++)
        if (!copy_table(from, to, table_names[i]))
            return false;
    return true;
}

/* Over a connection of its own, which uses no damaged page. */
static bool copy_whole_rows(const struct store *store, struct store *fresh)
{
    struct error ignored; /* the damage itself is reported */
    struct store *reader = database_new(store->path, &ignored);
    enum schema_state state;
    bool copied;

    if (reader == NULL)
        return false;
    reader->reads_only = true;
    copied = database_open(reader, SQLITE_OPEN_READONLY, &state, &ignored) == 0;
    if (copied)
        page_vfs_check(reader->database, NULL);
    copied = copied && copy_tables(reader, fresh);
    database_free(reader);
    return copied;
}

static int copy_back(struct store *store, struct store *fresh, struct error *error)
{
    sqlite3_backup *backup = sqlite3_backup_init(store->database, "main", fresh->database, "main");

    if (backup == NULL)
        return store_error(store, error);
    (void)sqlite3_backup_step(backup, -1); /* reported by its end */
    if (sqlite3_backup_finish(backup) != SQLITE_OK)
        return store_error(store, error);
    return statements_execute(store, "PRAGMA wal_checkpoint(TRUNCATE)", error);
}

int store_rebuild(struct store *store, bool (*has_all_rows)(struct store *copy), bool *rebuilt,
                  struct error *error)
{
    struct store *fresh = database_new("", error);
    int result = fresh != NULL ? database_open_temporary(fresh, error) : -1;

    *rebuilt = result == 0 && copy_whole_rows(store, fresh) && has_all_rows(fresh);
    if (*rebuilt)
        result = copy_back(store, fresh, error);
    database_free(fresh);
    return result;
}
