/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/rows.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json/json_value.h"
#include "store/statements.h"
#include "store/store_internal.h"

/* How many numbers name a row of a table that can be cached. */
static size_t naming_numbers(enum row_table table)
{
    return table == ROW_VATSTORE ? 1 : 3;
}

void row_write_place(const struct row *row, bool whole, struct buf *place)
{
    const char table = (char)row->table;
    const size_t numbers = whole ? naming_numbers(row->table) : 1;

    if (row->table != ROW_KEY) {
        buf_append(place, &table, 1);
        buf_append(place, row->numbers, numbers * sizeof *row->numbers);
    }
    if (whole && row->key.iov_len > 0)
        buf_append(place, row->key.iov_base, row->key.iov_len);
}

struct row row_at_place(struct iovec place)
{
    const char *bytes = place.iov_base;
    struct row row = {.table = ROW_KEY, .key = place};
    size_t size;

    if (place.iov_len == 0 || (bytes[0] != ROW_VATSTORE && bytes[0] != ROW_TRANSCRIPT))
        return row;
    row.table = (enum row_table)bytes[0];
    size = naming_numbers(row.table) * sizeof *row.numbers;
    memcpy(row.numbers, bytes + 1, size);
    row.key = (struct iovec){(char *)place.iov_base + 1 + size, place.iov_len - 1 - size};
    return row;
}

uint64_t row_checksum(const struct row *row)
{
    const uint64_t numbers[] = {htole64((uint64_t)row->numbers[0]),
                                htole64((uint64_t)row->numbers[1]),
                                htole64((uint64_t)row->numbers[2])};
    /* Each hash is the seed of the next, so that no byte can pass from key to value. */
    uint64_t hash = XXH3_64bits_withSeed(numbers, sizeof numbers, (uint64_t)row->table);

    hash = XXH3_64bits_withSeed(row->key.iov_base, row->key.iov_len, hash);
    return XXH3_64bits_withSeed(row->value.iov_base, row->value.iov_len, hash);
}

/* "vN." and more, N without leading zeros; else 0. */
static int64_t vat_of_key(struct iovec key)
{
    const char *text = key.iov_base;
    int64_t vat = 0;
    size_t i;

    if (key.iov_len < 3 || text[0] != 'v' || text[1] == '0')
        return 0;
    for (i = 1; i < key.iov_len && text[i] >= '0' && text[i] <= '9'; i++) {
        if (vat > (INT64_MAX - 9) / 10)
            return 0;
        vat = vat * 10 + (text[i] - '0');
    }
    return i < key.iov_len && text[i] == '.' ? vat : 0;
}

int64_t row_vat(const struct row *row)
{
    switch (row->table) {
    case ROW_KEY:
        return vat_of_key(row->key);
    case ROW_VATSTORE:
    case ROW_TRANSCRIPT:
    case ROW_SNAPSHOT:
    case ROW_SUM:
        return row->numbers[0];
    default:
        return 0;
    }
}

static void describe_key(struct buf *text, const char *what, struct iovec key)
{
    buf_printf(text, "%s ", what);
    json_value_write_string(text, key.iov_len > 0 ? key.iov_base : "", key.iov_len);
}

static void describe_row(struct buf *text, const struct row *row)
{
    const int64_t vat = row_vat(row);

    if (vat != 0)
        buf_printf(text, "vat v%" PRId64 ", ", vat);
    switch (row->table) {
    case ROW_KEY:
        describe_key(text, "the kernel's key", row->key);
        break;
    case ROW_VATSTORE:
        describe_key(text, "key", row->key);
        break;
    case ROW_TRANSCRIPT:
        buf_printf(text, "item %" PRId64 " of the transcript of incarnation %" PRId64,
                   row->numbers[2], row->numbers[1]);
        break;
    case ROW_SNAPSHOT:
        buf_append_string(text, "the record of its snapshot");
        break;
    case ROW_NAMED:
        describe_key(text, "the record of the snapshot", row->key);
        break;
    case ROW_CONTENT:
        describe_key(text, "the snapshot", row->key);
        break;
    case ROW_BUNDLE:
        describe_key(text, "the bundle", row->key);
        break;
    case ROW_SUM:
        buf_append_string(text, "the running hash");
        break;
    }
}

int row_damaged(const struct store *store, const struct row *row, const char *problem,
                struct error *error)
{
    struct buf text = {0};
    int result;

    describe_row(&text, row);
    if (buf_string(&text) == NULL) {
        result = error_memory(error, "an error in the store");
    } else {
        result = store_error_set(store, error, ERROR_SYSTEM, "the store is damaged: %.300s: %s",
                                 text.data, problem);
        error->is_damage = true;
        error->damaged_vat = row_vat(row);
    }
    buf_free(&text);
    return result;
}

int row_check(const struct store *store, const struct row *row, uint64_t checksum,
              struct error *error)
{
    if (row_checksum(row) == checksum)
        return 0;
    return row_damaged(store, row, "it does not match its checksum", error);
}

/* The statements of each table: none where nothing calls for one. */
static const struct {
    enum statement look, get, put, delete;
} table_statements[] = {
    [ROW_KEY] = {STATEMENT_KEY_LOOK, STATEMENT_KEY_GET, STATEMENT_KEY_SET, STATEMENT_KEY_DELETE},
    [ROW_VATSTORE] = {STATEMENT_VAT_LOOK, STATEMENT_VAT_GET, STATEMENT_VAT_SET,
                      STATEMENT_VAT_DELETE},
    [ROW_TRANSCRIPT] = {STATEMENT_TRANSCRIPT_LOOK, STATEMENT_TRANSCRIPT_GET,
                        STATEMENT_TRANSCRIPT_ADD, STATEMENTS},
    [ROW_SNAPSHOT] = {STATEMENT_SNAPSHOT_LOOK, STATEMENTS, STATEMENT_SNAPSHOT_PUT,
                      STATEMENT_SNAPSHOT_DELETE},
    [ROW_NAMED] = {STATEMENT_NAMED_LOOK, STATEMENT_NAMED_GET, STATEMENT_NAMED_PUT, STATEMENTS},
    [ROW_CONTENT] = {STATEMENT_CONTENT_LOOK, STATEMENTS, STATEMENT_CONTENT_PUT, STATEMENTS},
    [ROW_BUNDLE] = {STATEMENT_BUNDLE_LOOK, STATEMENT_BUNDLE_GET, STATEMENT_BUNDLE_PUT, STATEMENTS},
};

/* Binds what finds the row. Returns the next parameter. */
static int bind_place(struct store *store, enum statement which, const struct row *row)
{
    switch (row->table) {
    case ROW_VATSTORE:
        statement_bind_integer(store, which, 1, row->numbers[0]);
        statement_bind_blob(store, which, 2, row->key);
        return 3;
    case ROW_TRANSCRIPT:
    case ROW_SNAPSHOT:
        for (int i = 0; i < 3; i++)
            statement_bind_integer(store, which, i + 1, row->numbers[i]);
        return 4;
    default:
        statement_bind_text(store, which, 1, row->key);
        return 2;
    }
}

/* Binds the columns that neither find the row nor are the checksum. Returns the next parameter. */
static int bind_rest(struct store *store, enum statement which, int next, const struct row *row,
                     struct iovec bytes)
{
    switch (row->table) {
    case ROW_SNAPSHOT:
    case ROW_NAMED:
        statement_bind_text(store, which, next++, row->value);
        return next;
    case ROW_CONTENT:
        statement_bind_integer(store, which, next++, row->numbers[0]);
        statement_bind_blob(store, which, next++, bytes);
        return next;
    default:
        statement_bind_blob(store, which, next++, row->value);
        return next;
    }
}

static int running_sums_add(struct store *store, const struct vat_sum *change, struct error *error);

static int add_to_sum(struct store *store, const struct row *row, const struct row_change *change,
                      struct error *error)
{
    const struct vat_sum sum = {.vat = row_vat(row),
                                .rows = (int64_t)change->is - (int64_t)change->was,
                                .sum = change->after - change->before};

    return sum.rows == 0 && sum.sum == 0 ? 0 : running_sums_add(store, &sum, error);
}

int rows_look(struct store *store, const struct row *row, struct row_change *change,
              struct error *error)
{
    const enum statement which = table_statements[row->table].look;
    int result;

    *change = (struct row_change){0};
    bind_place(store, which, row);
    result = statement_step(store, which, &change->was, error);
    if (change->was)
        change->before = (uint64_t)statement_integer(store, which, 0);
    statement_done(store, which);
    return result;
}

static int run_put(struct store *store, const struct row *row, struct iovec bytes,
                   uint64_t checksum, struct error *error)
{
    const enum statement which = table_statements[row->table].put;
    const int next = bind_rest(store, which, bind_place(store, which, row), row, bytes);

    statement_bind_integer(store, which, next, (int64_t)checksum);
    return statement_run(store, which, error);
}

int rows_put_with(struct store *store, const struct row *row, struct iovec bytes,
                  struct row_change *change, struct error *error)
{
    change->is = true;
    change->after = row_checksum(row);
    if (run_put(store, row, bytes, change->after, error) != 0)
        return -1;
    return add_to_sum(store, row, change, error);
}

int rows_change_later(struct store *store, const struct row *row, bool present,
                      struct row_change *change, struct error *error)
{
    change->is = present;
    change->after = present ? row_checksum(row) : 0;
    return add_to_sum(store, row, change, error);
}

int rows_write(struct store *store, const struct row *row, uint64_t checksum, struct error *error)
{
    return run_put(store, row, (struct iovec){0}, checksum, error);
}

int rows_erase(struct store *store, const struct row *row, struct error *error)
{
    const enum statement which = table_statements[row->table].delete;

    bind_place(store, which, row);
    return statement_run(store, which, error);
}

int rows_put(struct store *store, const struct row *row, struct row_change *change,
             struct error *error)
{
    return rows_put_with(store, row, (struct iovec){0}, change, error);
}

int rows_delete(struct store *store, const struct row *row, struct row_change *change,
                struct error *error)
{
    change->is = false;
    change->after = 0;
    if (!change->was)
        return 0;
    if (rows_erase(store, row, error) != 0)
        return -1;
    return add_to_sum(store, row, change, error);
}

int rows_delete_all(struct store *store, enum statement look, enum statement delete, int64_t vat,
                    uint64_t *sum, struct error *error)
{
    struct vat_sum change = {.vat = vat};
    int result;
    bool found;

    while ((result = statement_step(store, look, &found, error)) == 0 && found) {
        change.rows--;
        change.sum -= (uint64_t)statement_integer(store, look, 0);
    }
    statement_done(store, look);
    *sum = -change.sum;
    if (result != 0 || change.rows == 0) {
        statement_done(store, delete);
        return result;
    }
    if (statement_run(store, delete, error) != 0)
        return -1;
    return running_sums_add(store, &change, error);
}

int rows_get(struct store *store, const struct row *row, struct buf *value, bool *found,
             struct error *error)
{
    const enum statement which = table_statements[row->table].get;
    struct row read = *row;
    int result;

    bind_place(store, which, row);
    result = statement_step(store, which, found, error);
    if (*found) {
        read.value = statement_bytes(store, which, 0);
        result = row_check(store, &read, (uint64_t)statement_integer(store, which, 1), error);
        if (result == 0 && buf_append(value, read.value.iov_base, read.value.iov_len) != 0)
            result = error_memory(error, "a value of the store");
    }
    statement_done(store, which);
    return result;
}

int rows_take_key(struct store *store, enum statement which, struct row *row, struct buf *key,
                  bool *found, struct error *error)
{
    int result = statement_step(store, which, found, error);

    if (*found) {
        row->key = statement_bytes(store, which, 0);
        row->value = statement_bytes(store, which, 1);
        result = row_check(store, row, (uint64_t)statement_integer(store, which, 2), error);
        if (result == 0 && buf_append(key, row->key.iov_base, row->key.iov_len) != 0)
            result = error_memory(error, "a key of the store");
    }
    statement_done(store, which);
    return result;
}

struct running_sum {
    struct vat_sum sum;
    bool changed; /* since it was read or written */
};

static int running_sums_no_memory(struct error *error)
{
    return error_memory(error, "the running hashes of the store");
}

/* ---- in the table ---- */

static struct row running_sums_row_of(const struct vat_sum *sum)
{
    return (struct row){.table = ROW_SUM, .numbers = {sum->vat, sum->rows, (int64_t)sum->sum}};
}

static int take_sum(struct store *store, enum statement which, struct vat_sum *sum,
                    struct error *error)
{
    struct row row;

    *sum = (struct vat_sum){.vat = statement_integer(store, which, 0),
                            .rows = statement_integer(store, which, 1),
                            .sum = (uint64_t)statement_integer(store, which, 2)};
    row = running_sums_row_of(sum);
    return row_check(store, &row, (uint64_t)statement_integer(store, which, 3), error);
}

int running_sums_read(struct store *store, int64_t vat, struct vat_sum *sum, struct error *error)
{
    int result;
    bool found;

    *sum = (struct vat_sum){.vat = vat};
    statement_bind_integer(store, STATEMENT_SUM_GET, 1, vat);
    result = statement_step(store, STATEMENT_SUM_GET, &found, error);
    if (found)
        result = take_sum(store, STATEMENT_SUM_GET, sum, error);
    statement_done(store, STATEMENT_SUM_GET);
    return result;
}

int running_sums_read_total(struct store *store, uint64_t *total, struct error *error)
{
    struct vat_sum sum;
    bool found;
    int result;

    *total = 0;
    while ((result = statement_step(store, STATEMENT_SUM_ALL, &found, error)) == 0 && found &&
           (result = take_sum(store, STATEMENT_SUM_ALL, &sum, error)) == 0)
        *total += sum.sum;
    statement_done(store, STATEMENT_SUM_ALL);
    return result;
}

/* A vat without rows has no sum, so that the sums depend on the rows alone. */
static int write_sum(struct store *store, const struct vat_sum *sum, struct error *error)
{
    const struct row row = running_sums_row_of(sum);

    if (sum->rows == 0) {
        statement_bind_integer(store, STATEMENT_SUM_DELETE, 1, sum->vat);
        return statement_run(store, STATEMENT_SUM_DELETE, error);
    }
    for (int i = 0; i < 3; i++)
        statement_bind_integer(store, STATEMENT_SUM_SET, i + 1, row.numbers[i]);
    statement_bind_integer(store, STATEMENT_SUM_SET, 4, (int64_t)row_checksum(&row));
    return statement_run(store, STATEMENT_SUM_SET, error);
}

/* ---- in memory ---- */

/* The index of the vat, or of the first vat after it. */
static size_t running_sums_place_of(const struct running_sums *sums, int64_t vat)
{
    size_t low = 0, high = sums->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (sums->sums[middle].sum.vat < vat)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* NULL with the error filled. */
static struct running_sum *provide_sum(struct store *store, int64_t vat, struct error *error)
{
    struct running_sums *sums = &store->sums;
    const size_t place = running_sums_place_of(sums, vat);
    struct running_sum *array;
    struct vat_sum sum;

    if (place < sums->count && sums->sums[place].sum.vat == vat)
        return &sums->sums[place];
    if (running_sums_read(store, vat, &sum, error) != 0)
        return NULL;
    array = array_reserve(sums->sums, &sums->capacity, sums->count + 1, sizeof *array);
    if (array == NULL) {
        running_sums_no_memory(error);
        return NULL;
    }
    sums->sums = array;
    memmove(&array[place + 1], &array[place], (sums->count - place) * sizeof *array);
    sums->count++;
    array[place] = (struct running_sum){.sum = sum};
    return &array[place];
}

static void change_sum(struct running_sums *sums, struct running_sum *sum, int64_t rows,
                       uint64_t difference)
{
    sum->sum.rows += rows;
    sum->sum.sum += difference;
    sum->changed = true;
    sums->total += difference;
}

static int note_sum_change(struct running_sums *sums, const struct vat_sum *change,
                           struct error *error)
{
    struct vat_sum *changes;

    if (sums->savepoint_count == 0)
        return 0;
    changes = array_reserve(sums->changes, &sums->change_capacity, sums->change_count + 1,
                            sizeof *changes);
    if (changes == NULL)
        return running_sums_no_memory(error);
    sums->changes = changes;
    changes[sums->change_count++] = *change;
    return 0;
}

/* Adds to the vat's; the number of rows may be negative, the sum wraps around. */
static int running_sums_add(struct store *store, const struct vat_sum *change, struct error *error)
{
    struct running_sum *sum = provide_sum(store, change->vat, error);

    if (sum == NULL || note_sum_change(&store->sums, change, error) != 0)
        return -1;
    change_sum(&store->sums, sum, change->rows, change->sum);
    return 0;
}

int running_sums_savepoint(struct running_sums *sums, struct error *error)
{
    size_t *savepoints = array_reserve(sums->savepoints, &sums->savepoint_capacity,
                                       sums->savepoint_count + 1, sizeof *savepoints);

    if (savepoints == NULL)
        return running_sums_no_memory(error);
    sums->savepoints = savepoints;
    savepoints[sums->savepoint_count++] = sums->change_count;
    return 0;
}

void running_sums_undo(struct running_sums *sums)
{
    const size_t then = sums->savepoints[--sums->savepoint_count];

    while (sums->change_count > then) {
        const struct vat_sum *change = &sums->changes[--sums->change_count];

        change_sum(sums, &sums->sums[running_sums_place_of(sums, change->vat)], -change->rows,
                   -change->sum);
    }
}

void running_sums_release(struct running_sums *sums)
{
    /* The outer savepoint still needs the list of what changed. */
    if (--sums->savepoint_count == 0)
        sums->change_count = 0;
}

int running_sums_gather(struct running_sums *sums, struct sum_writes *writes, struct error *error)
{
    writes->count = 0;
    for (size_t i = 0; i < sums->count; i++) {
        struct vat_sum *array;

        if (!sums->sums[i].changed)
            continue;
        array = array_reserve(writes->sums, &writes->capacity, writes->count + 1, sizeof *array);
        if (array == NULL)
            return running_sums_no_memory(error);
        writes->sums = array;
        array[writes->count++] = sums->sums[i].sum;
        sums->sums[i].changed = false;
    }
    return 0;
}

int running_sums_write(struct store *store, const struct sum_writes *writes, struct error *error)
{
    for (size_t i = 0; i < writes->count; i++)
        if (write_sum(store, &writes->sums[i], error) != 0)
            return -1;
    return 0;
}

void running_sums_clear(struct running_sums *sums)
{
    free(sums->sums);
    free(sums->changes);
    free(sums->savepoints);
    *sums = (struct running_sums){0};
}
