/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/lost_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/integrity/cached_rows.h"
#include "store/statements.h"
#include "store/store_internal.h"

static const char *mark_name(char name[LOST_ROWS_NAME_SIZE], int64_t vat)
{
    snprintf(name, LOST_ROWS_NAME_SIZE, STORE_LOST ".v%" PRId64, vat);
    return name;
}

static int write_mark(struct store *store, const char *name, struct error *error)
{
    const struct row row = {.table = ROW_KEY, .key = {(void *)(uintptr_t)name, strlen(name)}};

    return rows_write(store, &row, row_checksum(&row), error);
}

int lost_rows_mark(struct store *store, int64_t vat, struct error *error)
{
    char name[LOST_ROWS_NAME_SIZE];

    if (write_mark(store, STORE_LOST, error) != 0)
        return -1;
    return write_mark(store, mark_name(name, vat), error);
}

int lost_rows_look(struct store *store, struct error *error)
{
    int64_t any;

    if (statements_query(store,
                         "SELECT EXISTS (SELECT 1 FROM key WHERE name >= '" STORE_LOST
                         "' AND name < '" STORE_LOST "/')",
                         &any, 1, error) != 0)
        return -1;
    store->has_lost_rows = any != 0;
    return 0;
}

int lost_rows_find(struct store *store, int64_t vat, char name[LOST_ROWS_NAME_SIZE], bool *marked,
                   struct error *error)
{
    struct row row = {.table = ROW_KEY, .key.iov_base = name};
    struct cached_row wanted = {.row = &row, .name = name};
    struct buf value = {0};
    int result = 0;

    *marked = false;
    if (!store->has_lost_rows)
        return 0;
    row.key.iov_len = strlen(mark_name(name, vat));
    wanted.place = row.key;
    result = cached_row_get(store, &wanted, &value, marked, error);
    buf_free(&value);
    return result;
}

int lost_rows_check(struct store *store, const struct row *row, struct error *error)
{
    char name[LOST_ROWS_NAME_SIZE];
    bool marked;

    if (lost_rows_find(store, row_vat(row), name, &marked, error) != 0)
        return -1;
    return marked ? row_damaged(store, row,
                                "whether it existed is not known, because rows of the vat were "
                                "lost",
                                error)
                  : 0;
}
