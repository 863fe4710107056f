/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "store/format/database.h"
#include "store/integrity/check.h"
#include "store/integrity/lost_rows.h"
#include "store/integrity/page_vfs.h"
#include "store/integrity/rows.h"
#include "store/statements.h"
#include "store/store_internal.h"

/*
 *   store's file --- whole rows, without indexes ---> temporary file --- pages ---> store's file
 *
 * The hazard: a row that the damage hides is lost for good, so the running hashes must say whose
 * it was, and only tables of which something could not be read may lack any. SQLite writes the
 * pages in one transaction, so that a crash leaves the file as it was.
 *
 * Tables with row numbers are read twice: without the pages that do not match their checksums, and
 * then with them, whose rows have checksums of their own. A page that a disk wrote to another one's
 * place is in order for SQLite, but its numbers are others, which would hide the rows after it.
 */

/* The columns, of which the checksum is the last. */
static const struct {
    const char *name;
    enum row_table table;
    int numbers;                   /* how many, from the first column on */
    int key, value;                /* -1: none */
    const char *order, *backwards; /* of a table without row numbers */
} tables[] = {
    {"key", ROW_KEY, 0, 0, 1, "name", "name DESC"},
    {"vatstore", ROW_VATSTORE, 1, 1, 2, NULL, NULL},
    {"transcript", ROW_TRANSCRIPT, 3, -1, 3, NULL, NULL},
    {"snapshot", ROW_SNAPSHOT, 3, -1, 3, "vat, incarnation, position",
     "vat DESC, incarnation DESC, position DESC"},
    {"snapshot_name", ROW_NAMED, 0, 0, 1, "name", "name DESC"},
    {"snapshot_content", ROW_CONTENT, 0, 0, -1, NULL, NULL},
    {"bundle", ROW_BUNDLE, 0, 0, 1, NULL, NULL},
    {"running_sum", ROW_SUM, 3, -1, -1, NULL, NULL},
};

struct rebuild {
    struct store *from, *to;
    struct error *error;
    bool lacks[ROW_SUM + 1]; /* by table: not all that it had was read */

    /* While a table is copied. */
    size_t table;
    sqlite3_stmt *insert;

    /* Rows that the copy lacks according to the running hashes. */
    struct store_losses *losses;
    bool unexplained; /* it differs where nothing was lost */
    bool failed;
};

static bool lacks(const struct rebuild *rebuild, enum row_table table)
{
    return rebuild->lacks[table];
}

/* ---- rows ---- */

static struct iovec column_bytes(sqlite3_stmt *row, int column)
{
    const void *bytes = column >= 0 ? sqlite3_column_blob(row, column) : NULL;

    return (struct iovec){(void *)(uintptr_t)bytes,
                          bytes != NULL ? (size_t)sqlite3_column_bytes(row, column) : 0};
}

/* Returns true if the row has its checksum. */
static bool is_sound(sqlite3_stmt *statement, size_t table)
{
    struct row row = {.table = tables[table].table};

    for (int i = 0; i < tables[table].numbers; i++)
        row.numbers[i] = sqlite3_column_int64(statement, i);
    row.key = column_bytes(statement, tables[table].key);
    row.value = column_bytes(statement, tables[table].value);
    if (row.table == ROW_CONTENT) {
        row.numbers[0] = sqlite3_column_int64(statement, 1);
        row.numbers[1] = sqlite3_column_bytes(statement, 2);
    }
    return row_checksum(&row) ==
           (uint64_t)sqlite3_column_int64(statement, sqlite3_column_count(statement) - 1);
}

/* A damaged key stays: it says that it is damaged, where a missing one would mean something. */
static bool is_copied(sqlite3_stmt *statement, size_t table)
{
    return is_sound(statement, table) || tables[table].table == ROW_KEY;
}

static int copy_row(struct rebuild *rebuild, sqlite3_stmt *row)
{
    int code = SQLITE_OK;

    if (!is_copied(row, rebuild->table)) {
        rebuild->lacks[tables[rebuild->table].table] = true;
        return 0;
    }
    for (int i = 0; code == SQLITE_OK && i < sqlite3_column_count(row); i++)
        code = sqlite3_bind_value(rebuild->insert, i + 1, sqlite3_column_value(row, i));
    if (code == SQLITE_OK)
        code = sqlite3_step(rebuild->insert);
    (void)sqlite3_reset(rebuild->insert); /* repeats what the step returned */
    if (code == SQLITE_CONSTRAINT)        /* a column has another type */
        rebuild->lacks[tables[rebuild->table].table] = true;
    else if (code != SQLITE_DONE)
        return store_error(rebuild->to, rebuild->error);
    return 0;
}

/* After a failed read: damage only means that rows are lacking. */
static int note_lack(struct rebuild *rebuild)
{
    if ((sqlite3_errcode(rebuild->from->database) & 0xff) != SQLITE_CORRUPT)
        return store_error(rebuild->from, rebuild->error);
    rebuild->lacks[tables[rebuild->table].table] = true;
    return 0;
}

/* Copies the rows that the query finds, up to the first that cannot be read. *end: there are no
 * more. */
static int copy_query(struct rebuild *rebuild, const char *query, bool *end)
{
    sqlite3_stmt *reading;
    int result = 0, code = SQLITE_DONE;

    *end = true;
    if (sqlite3_prepare_v2(rebuild->from->database, query, -1, &reading, NULL) != SQLITE_OK)
        return store_error(rebuild->from, rebuild->error);
    while (result == 0 && (code = sqlite3_step(reading)) == SQLITE_ROW)
        result = copy_row(rebuild, reading);
    if (result == 0 && code != SQLITE_DONE) {
        *end = false;
        result = note_lack(rebuild);
    }
    (void)sqlite3_finalize(reading); /* a failed step was seen */
    return result;
}

/* ---- tables with row numbers: all rows but those on lost pages ---- */

/* SQLite numbers them from 1 on. */
static const int64_t row_number_max = INT64_MAX / 2;

struct seek {
    int64_t number; /* of the first row found */
    bool readable;  /* whether there is one or not */
    bool any;
};

/* The first row from this number on. */
static int seek_row(struct rebuild *rebuild, int64_t from, struct seek *found)
{
    char query[160];
    sqlite3_stmt *reading;
    int code, result = 0;

    snprintf(query, sizeof query,
             "SELECT rowid FROM %s NOT INDEXED WHERE rowid >= %" PRId64 " ORDER BY rowid LIMIT 1",
             tables[rebuild->table].name, from);
    if (sqlite3_prepare_v2(rebuild->from->database, query, -1, &reading, NULL) != SQLITE_OK)
        return store_error(rebuild->from, rebuild->error);
    code = sqlite3_step(reading);
    *found = (struct seek){.any = code == SQLITE_ROW,
                           .readable = code == SQLITE_ROW || code == SQLITE_DONE};
    if (found->any)
        found->number = sqlite3_column_int64(reading, 0);
    else if (!found->readable)
        result = note_lack(rebuild);
    (void)sqlite3_finalize(reading); /* a failed step was seen */
    return result;
}

/* Nothing can be read at `bad`: finds the first place after it where something can, with steps
 * that double and then halve. */
static int seek_behind(struct rebuild *rebuild, int64_t bad, struct seek *found)
{
    struct seek tried;
    int64_t step = 1, low = bad;

    *found = (struct seek){0};
    while (!found->readable && step <= row_number_max - low) {
        if (seek_row(rebuild, low + step, found) != 0)
            return -1;
        if (!found->readable) {
            low += step;
            step *= 2;
        }
    }
    while (found->readable && step > 1) {
        step /= 2;
        if (seek_row(rebuild, low + step, &tried) != 0)
            return -1;
        if (tried.readable)
            *found = tried;
        else
            low += step;
    }
    return 0;
}

/* The row itself may have pages that cannot be read. */
static int copy_numbered_row(struct rebuild *rebuild, int64_t number)
{
    char query[160];
    bool end;

    snprintf(query, sizeof query, "SELECT * FROM %s NOT INDEXED WHERE rowid = %" PRId64,
             tables[rebuild->table].name, number);
    return copy_query(rebuild, query, &end);
}

static int copy_numbered_rows(struct rebuild *rebuild)
{
    struct seek found;
    int64_t from = 0;

    for (;;) {
        if (seek_row(rebuild, from, &found) != 0 ||
            (!found.readable && seek_behind(rebuild, from, &found) != 0))
            return -1;
        if (!found.any || found.number > row_number_max)
            return 0;
        if (copy_numbered_row(rebuild, found.number) != 0)
            return -1;
        from = found.number + 1;
    }
}

/* ---- tables in the order of a key: the rows before and after lost pages ---- */

static int copy_ordered_rows(struct rebuild *rebuild)
{
    const char *name = tables[rebuild->table].name;
    char query[160];
    bool end;

    snprintf(query, sizeof query, "SELECT * FROM %s ORDER BY %s", name,
             tables[rebuild->table].order);
    if (copy_query(rebuild, query, &end) != 0 || end)
        return end ? 0 : -1;
    snprintf(query, sizeof query, "SELECT * FROM %s ORDER BY %s", name,
             tables[rebuild->table].backwards);
    return copy_query(rebuild, query, &end);
}

/* ---- all tables ---- */

static int copy_table(struct rebuild *rebuild)
{
    static const char places[] = "?1, ?2, ?3, ?4, ?5";
    const int columns[] = {3, 4, 5, 5, 3, 4, 3, 4};
    char insert[96];
    int result;

    snprintf(insert, sizeof insert, "INSERT OR IGNORE INTO %s VALUES (%.*s)",
             tables[rebuild->table].name, columns[rebuild->table] * 4 - 2, places);
    if (statements_prepare_one(rebuild->to, insert, &rebuild->insert, rebuild->error) != 0)
        return -1;
    result = tables[rebuild->table].order != NULL ? copy_ordered_rows(rebuild)
                                                  : copy_numbered_rows(rebuild);
    (void)sqlite3_finalize(rebuild->insert); /* a failed step was seen */
    return result;
}

/* A runtime's snapshot whose content is lost is made again when it is missing. */
static int drop_empty_names(struct rebuild *rebuild)
{
    if (!lacks(rebuild, ROW_CONTENT))
        return 0;
    rebuild->lacks[ROW_NAMED] = true;
    return statements_execute(rebuild->to,
                              "DELETE FROM snapshot_name WHERE hash NOT IN "
                              "(SELECT hash FROM snapshot_content)",
                              rebuild->error);
}

enum pass { PASS_CHECKED_PAGES, PASS_ALL_PAGES };

static bool is_in_pass(size_t table, enum pass pass)
{
    return pass == PASS_ALL_PAGES ||
           (tables[table].order == NULL && tables[table].table != ROW_SUM);
}

static int copy_tables(struct rebuild *rebuild, enum pass pass)
{
    for (rebuild->table = 0; rebuild->table < sizeof tables / sizeof *tables; rebuild->table++)
        if (is_in_pass(rebuild->table, pass) && copy_table(rebuild) != 0)
            return -1;
    return 0;
}

/* Over a connection of its own: no page that was read unchecked stays in the store's cache. */
static int copy_pass(struct rebuild *rebuild, const char *path, enum pass pass)
{
    enum schema_state state;
    int result = -1;

    rebuild->from = database_new(path, rebuild->error);
    if (rebuild->from == NULL)
        return -1;
    rebuild->from->reads_only = true;
    if (database_open(rebuild->from, SQLITE_OPEN_READONLY, &state, rebuild->error) == 0) {
        if (pass == PASS_CHECKED_PAGES)
            page_vfs_check(rebuild->from->database, NULL);
        result = copy_tables(rebuild, pass);
    }
    database_free(rebuild->from);
    return result;
}

static int copy_rows(struct rebuild *rebuild, const char *path)
{
    if (statements_execute(rebuild->to, "BEGIN", rebuild->error) != 0 ||
        copy_pass(rebuild, path, PASS_CHECKED_PAGES) != 0 ||
        copy_pass(rebuild, path, PASS_ALL_PAGES) != 0 || drop_empty_names(rebuild) != 0)
        return -1;
    return statements_execute(rebuild->to, "COMMIT", rebuild->error);
}

/* ---- what the copy lacks ---- */

/* Returns true if a table that has rows of the vat was not read whole. */
static bool is_explained(const struct rebuild *rebuild, int64_t vat)
{
    if (vat == 0)
        return lacks(rebuild, ROW_CONTENT) || lacks(rebuild, ROW_NAMED) ||
               lacks(rebuild, ROW_BUNDLE);
    return lacks(rebuild, ROW_VATSTORE) || lacks(rebuild, ROW_TRANSCRIPT) ||
           lacks(rebuild, ROW_SNAPSHOT);
}

/* A lost hash proves only that there were rows: see store_rebuild(). */
static bool has_lost_hash(const struct rebuild *rebuild, const struct vat_sum *kept)
{
    return lacks(rebuild, ROW_SUM) && kept->rows == 0;
}

static void note_loss(void *context, const struct vat_sum *found, const struct vat_sum *kept)
{
    struct rebuild *rebuild = context;
    struct store_losses *losses = rebuild->losses;

    if (has_lost_hash(rebuild, kept))
        return;
    if (!is_explained(rebuild, found->vat)) {
        rebuild->unexplained = true;
        return;
    }
    if (found->vat == 0) {
        losses->contents += kept->rows - found->rows;
        return;
    }
    losses->rows += kept->rows - found->rows;
    buf_printf(&losses->vats, "%sv%" PRId64, losses->vats.length > 0 ? ", " : "", found->vat);
    if (lacks(rebuild, ROW_VATSTORE) &&
        lost_rows_mark(rebuild->to, found->vat, rebuild->error) != 0)
        rebuild->failed = true;
}

/* No row of two tables may be lost if it is not known how many there were. */
static bool can_be_judged(const struct rebuild *rebuild)
{
    bool other = false;

    for (size_t table = 0; table < ROW_SUM; table++)
        other |= rebuild->lacks[table];
    return !lacks(rebuild, ROW_KEY) && !(other && lacks(rebuild, ROW_SUM));
}

/* *usable: what the copy lacks is known. */
static int judge_copy(struct rebuild *rebuild, bool *usable)
{
    struct store_check check = {.context = rebuild, .differs = note_loss};

    *usable = can_be_judged(rebuild);
    if (!*usable)
        return 0;
    rebuild->losses->hashes = lacks(rebuild, ROW_SUM);
    if (store_check_rows(rebuild->to, &check, rebuild->error) != 0 || rebuild->failed)
        return -1;
    *usable = check.keys_whole && !rebuild->unexplained;
    return buf_failed(&rebuild->losses->vats) ? error_memory(rebuild->error, "a damaged store") : 0;
}

static void write_found_sum(void *context, const struct vat_sum *found, const struct vat_sum *kept)
{
    struct rebuild *rebuild = context;
    struct vat_sum sum = *found;
    const struct sum_writes writes = {.sums = &sum, .count = 1};

    (void)kept;
    if (!rebuild->failed)
        rebuild->failed = running_sums_write(rebuild->to, &writes, rebuild->error) != 0;
}

/* The running hashes become those of the rows that are there. */
static int write_sums(struct rebuild *rebuild)
{
    struct store_check check = {.context = rebuild, .differs = write_found_sum};

    if (store_check_rows(rebuild->to, &check, rebuild->error) != 0)
        return -1;
    return rebuild->failed ? -1 : 0;
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

int store_rebuild(struct store *store, struct store_losses *losses, bool *rebuilt,
                  struct error *error)
{
    struct rebuild rebuild = {.to = database_new("", error), .error = error, .losses = losses};
    int result = rebuild.to != NULL ? database_open_temporary(rebuild.to, error) : -1;

    *losses = (struct store_losses){0};
    *rebuilt = false;
    if (result == 0 && copy_rows(&rebuild, store->path) == 0)
        result = judge_copy(&rebuild, rebuilt);
    else
        result = -1;
    if (result == 0 && *rebuilt && (result = write_sums(&rebuild)) == 0)
        result = copy_back(store, rebuild.to, error);
    database_free(rebuild.to);
    return result;
}
