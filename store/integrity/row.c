/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/row.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/json/json_value.h"
#include "store/store_error.h"

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
    if (buf_string(&text) == NULL)
        result = error_memory(error, "an error in the store");
    else
        result = store_error_set(store, error, ERROR_SYSTEM, "the store is damaged: %.300s: %s",
                                 text.data, problem);
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
