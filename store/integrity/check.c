/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "store/format/database.h"
#include "store/integrity/cached_rows.h"
#include "store/integrity/rows.h"
#include "store/statements.h"
#include "store/store_internal.h"

/* The rows of a vat that were read. */
struct found_sum {
    struct vat_sum sum;
    uint64_t kept; /* the sum of the checksums that are kept with the rows */
};

/* In the order of the vats. */
struct found_sums {
    struct found_sum *sums;
    size_t count, capacity;
};

/* Each gives the checksum, up to three numbers, and perhaps key and value. */
static const struct {
    enum row_table table;
    int numbers;
    int key, value; /* columns; 0: none */
    const char *query;
} tables[] = {
    {ROW_KEY, 0, 1, 2, "SELECT checksum, name, value FROM key"},
    {ROW_VATSTORE, 1, 2, 3, "SELECT checksum, vat, key, value FROM vatstore"},
    {ROW_TRANSCRIPT, 3, 0, 4, "SELECT checksum, vat, incarnation, position, item FROM transcript"},
    {ROW_SNAPSHOT, 3, 0, 4, "SELECT checksum, vat, incarnation, position, hash FROM snapshot"},
    {ROW_NAMED, 0, 1, 2, "SELECT checksum, name, hash FROM snapshot_name"},
    {ROW_CONTENT, 2, 3, 0, "SELECT checksum, size, length(bytes), hash FROM snapshot_content"},
    {ROW_BUNDLE, 0, 1, 2, "SELECT checksum, id, json FROM bundle"},
};

static struct iovec bytes_at(sqlite3_stmt *row, int column)
{
    const void *bytes = sqlite3_column_blob(row, column);

    return (struct iovec){(void *)(uintptr_t)bytes, (size_t)sqlite3_column_bytes(row, column)};
}

static void read_row(sqlite3_stmt *statement, size_t table, struct row *row)
{
    *row = (struct row){.table = tables[table].table};
    for (int i = 0; i < tables[table].numbers; i++)
        row->numbers[i] = sqlite3_column_int64(statement, 1 + i);
    if (tables[table].key != 0)
        row->key = bytes_at(statement, tables[table].key);
    if (tables[table].value != 0)
        row->value = bytes_at(statement, tables[table].value);
}

static void report(struct store_check *check, bool concerns_all, const struct error *error)
{
    check->problems++;
    if (concerns_all && check->general.kind == ERROR_NONE)
        check->general = *error;
    if (check->damaged != NULL)
        check->damaged(check->context, error->text);
}

/* ---- the rows ---- */

static struct found_sum *provide_found_sum(struct found_sums *found, int64_t vat)
{
    struct found_sum *sums;
    size_t place = 0, end = found->count;

    while (place < end) {
        const size_t middle = place + (end - place) / 2;

        if (found->sums[middle].sum.vat < vat)
            place = middle + 1;
        else
            end = middle;
    }
    if (place < found->count && found->sums[place].sum.vat == vat)
        return &found->sums[place];
    sums = array_reserve(found->sums, &found->capacity, found->count + 1, sizeof *sums);
    if (sums == NULL)
        return NULL;
    found->sums = sums;
    memmove(&sums[place + 1], &sums[place], (found->count - place) * sizeof *sums);
    found->count++;
    sums[place] = (struct found_sum){.sum.vat = vat};
    return &sums[place];
}

enum { PROGRESS_ROWS = 16384 };

struct row_check_run {
    struct store *store;
    struct store_check *check;
    struct found_sums found;
};

static int take_row(void *context, const struct row *row, uint64_t checksum, struct error *error)
{
    struct row_check_run *run = context;
    struct store_check *check = run->check;
    struct found_sum *sum;
    struct error problem;

    if (row_check(run->store, row, checksum, &problem) != 0)
        report(check, row->table == ROW_KEY && row_vat(row) == 0, &problem);
    sum = provide_found_sum(&run->found, row_vat(row));
    if (sum == NULL)
        return error_memory(error, "the running hashes of the store");
    sum->sum.rows++;
    sum->sum.sum += row_checksum(row);
    sum->kept += checksum;
    if (++check->rows % PROGRESS_ROWS == 0 && check->progress != NULL)
        check->progress(check->context, check->rows);
    return 0;
}

/* Calls take() with each row of a table and the checksum that is kept with it. */
static int read_table(struct store *store, size_t table,
                      int (*take)(void *context, const struct row *row, uint64_t checksum,
                                  struct error *error),
                      void *context, struct error *error)
{
    sqlite3_stmt *statement;
    struct row row;
    int result = 0, code = SQLITE_DONE;

    if (key_writes_finish(store, error) != 0 ||
        statements_prepare_one(store, tables[table].query, &statement, error) != 0)
        return -1;
    while (result == 0 && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        read_row(statement, table, &row);
        result = take(context, &row, (uint64_t)sqlite3_column_int64(statement, 0), error);
    }
    if (result == 0 && code != SQLITE_DONE)
        result = store_error(store, error);
    sqlite3_finalize(statement);
    return result;
}

/* ---- the running hashes ---- */

static void report_sum(struct store *store, struct store_check *check, const struct vat_sum *found,
                       const struct vat_sum *kept)
{
    struct error error;
    char owner[32] = "the kernel";

    if (found->vat != 0)
        snprintf(owner, sizeof owner, "vat v%" PRId64, found->vat);
    store_error_set(store, &error, ERROR_SYSTEM,
                    "the store is damaged: %s has %" PRId64 " rows with the hash %016" PRIx64
                    ", not %" PRId64 " with %016" PRIx64
                    " as committed: a row was added, deleted or set back",
                    owner, found->rows, found->sum, kept->rows, kept->sum);
    report(check, true, &error);
}

/* A damaged row was reported: its sum is right with the checksum of its content, or with the one
 * that is kept with it. */
static int compare_sum(struct store *store, struct store_check *check,
                       const struct found_sum *found, struct error *error)
{
    struct vat_sum kept;

    if (running_sums_read(store, found->sum.vat, &kept, error) != 0)
        return -1;
    if (kept.rows == found->sum.rows && (kept.sum == found->sum.sum || kept.sum == found->kept))
        return 0;
    if (check->differs != NULL)
        check->differs(check->context,
                       &(struct vat_sum){found->sum.vat, found->sum.rows, found->kept}, &kept);
    else
        report_sum(store, check, &found->sum, &kept);
    return 0;
}

/* A vat that lost all its rows is in the table of sums only. */
static int compare_sums(struct store *store, struct store_check *check, struct found_sums *found,
                        struct error *error)
{
    sqlite3_stmt *statement;
    int result = 0;

    if (statements_prepare_one(store, "SELECT vat FROM running_sum", &statement, error) != 0)
        return -1;
    while (result == 0 && sqlite3_step(statement) == SQLITE_ROW)
        if (provide_found_sum(found, sqlite3_column_int64(statement, 0)) == NULL)
            result = error_memory(error, "the running hashes of the store");
    if (sqlite3_finalize(statement) != SQLITE_OK && result == 0)
        result = store_error(store, error);
    for (size_t i = 0; result == 0 && i < found->count; i++)
        result = compare_sum(store, check, &found->sums[i], error);
    return result;
}

int store_check_rows(struct store *store, struct store_check *check, struct error *error)
{
    struct row_check_run run = {.store = store, .check = check};
    int result = 0;

    for (size_t table = 0; result == 0 && table < sizeof tables / sizeof *tables; table++) {
        result = read_table(store, table, take_row, &run, error);
        check->keys_whole |=
            tables[table].table == ROW_KEY && result == 0 && check->general.kind == ERROR_NONE;
    }
    if (result == 0)
        result = compare_sums(store, check, &run.found, error);
    free(run.found.sums);
    return result;
}

/* ---- the file ---- */

static void report_file(struct store *store, struct store_check *check, const char *words)
{
    struct error error;

    store_error_set(store, &error, ERROR_SYSTEM, "the store is damaged: %.500s", words);
    report(check, false, &error);
}

static int check_tables(struct store *store, struct store_check *check, struct error *error)
{
    bool same;

    if (schema_compare(store, &same, error) != 0)
        return -1;
    if (!same)
        report_file(store, check, "its tables are not gaspipe's");
    return 0;
}

static int check_structure(struct store *store, struct store_check *check, struct error *error)
{
    sqlite3_stmt *statement;

    if (statements_prepare_one(store, "PRAGMA integrity_check", &statement, error) != 0)
        return -1;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *words = (const char *)sqlite3_column_text(statement, 0);

        if (words != NULL && strcmp(words, "ok") != 0)
            report_file(store, check, words);
    }
    return sqlite3_finalize(statement) == SQLITE_OK ? 0 : store_error(store, error);
}

int store_check_file(struct store *store, struct store_check *check, struct error *error)
{
    return check_tables(store, check, error) == 0 ? check_structure(store, check, error) : -1;
}

/* ---- whether it can be used ---- */

int store_require_usable(struct store *store, struct error *error)
{
    struct store_check check = {0};

    if (store_check_rows(store, &check, error) != 0)
        return -1;
    if (check.general.kind == ERROR_NONE)
        return 0;
    *error = check.general;
    return -1;
}

/* ---- the state ---- */

struct state_sum {
    bool (*counts)(struct iovec key);
    uint64_t sum;
};

static int add_to_state(void *context, const struct row *row, uint64_t checksum,
                        struct error *error)
{
    struct state_sum *state = context;

    (void)checksum, (void)error;
    if (row->table != ROW_KEY || state->counts(row->key))
        state->sum += row_checksum(row);
    return 0;
}

int store_sum_state(struct store *store, bool (*counts)(struct iovec key), uint64_t *sum,
                    struct error *error)
{
    struct state_sum state = {.counts = counts};

    for (size_t table = 0; table < sizeof tables / sizeof *tables; table++) {
        if ((tables[table].table == ROW_KEY || tables[table].table == ROW_VATSTORE) &&
            read_table(store, table, add_to_state, &state, error) != 0)
            return -1;
    }
    *sum = state.sum;
    return 0;
}

/* Detects edits that changed the checksums, too. */
int store_require_state(struct store *store, bool (*counts)(struct iovec key), uint64_t sum,
                        struct error *error)
{
    uint64_t found;

    if (store_sum_state(store, counts, &found, error) != 0)
        return -1;
    return found == sum
               ? 0
               : store_error_set(store, error, ERROR_SYSTEM,
                                 "the store is damaged: its keys and values are not those "
                                 "that its cranks left: another program edited them and the "
                                 "checksums");
}

/* ---- snapshots ---- */

static void check_snapshot(struct store *store, struct store_check *check, const char *hash, int fd)
{
    struct error problem;

    check->snapshots++;
    if (store_snapshot_read(store, hash, fd, &problem) != 0)
        report(check, false, &problem);
}

/* Only those that a row refers to: the next snapshot deletes the others. */
static int check_snapshots(struct store *store, struct store_check *check, int fd,
                           struct error *error)
{
    sqlite3_stmt *statement;

    if (statements_prepare_one(store,
                               "SELECT hash FROM snapshot UNION SELECT hash FROM snapshot_name",
                               &statement, error) != 0)
        return -1;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *hash = (const char *)sqlite3_column_text(statement, 0);

        check_snapshot(store, check, hash != NULL ? hash : "", fd);
    }
    return sqlite3_finalize(statement) == SQLITE_OK ? 0 : store_error(store, error);
}

int store_check_snapshots(struct store *store, struct store_check *check, struct error *error)
{
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int result;

    if (fd < 0)
        return error_system(error, errno, "/dev/null: cannot open it");
    result = check_snapshots(store, check, fd, error);
    (void)close(fd); /* nothing is kept there */
    return result;
}
