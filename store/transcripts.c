/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/cached_rows.h"
#include "store/store_internal.h"

static struct row transcripts_row_of(int64_t vat, int64_t incarnation, int64_t position)
{
    return (struct row){.table = ROW_TRANSCRIPT, .numbers = {vat, incarnation, position}};
}

/* A second item in its place is refused, here or by the table. */
static int add_row(struct store *store, const struct row *row, struct error *error)
{
    struct cached_row wanted = {.row = row, .is_new = true, .once = true};
    struct row_change change;

    if (cached_row_place(store, row, &wanted.place, error) != 0)
        return -1;
    if (key_cache_find(&store->cache, wanted.place) != NULL)
        return row_damaged(store, row, "there is one already", error);
    return cached_row_change(store, &wanted, true, &change, error);
}

int store_transcript_add(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct iovec item, struct error *error)
{
    struct row row = transcripts_row_of(vat, incarnation, position);
    bool own;

    row.value = item;
    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, add_row(store, &row, error), error);
}

int store_transcript_get(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct buf *item, bool *found, struct error *error)
{
    const struct row row = transcripts_row_of(vat, incarnation, position);

    *found = false;
    if (key_writes_finish(store, error) != 0)
        return -1;
    return rows_get(store, &row, item, found, error);
}

/* The number that a statement bound with a vat and an incarnation gives. */
static int take_position(struct store *store, enum statement which, int64_t vat,
                         int64_t incarnation, int64_t *position, bool *found, struct error *error)
{
    int result;

    statement_bind_integer(store, which, 1, vat);
    statement_bind_integer(store, which, 2, incarnation);
    result = statement_step(store, which, found, error);
    if (*found)
        *position = statement_integer(store, which, 0);
    statement_done(store, which);
    return result;
}

int store_transcript_bounds(struct store *store, int64_t vat, int64_t incarnation, int64_t *first,
                            int64_t *end, struct error *error)
{
    int64_t last = -1;
    bool found;

    *first = 0;
    if (key_writes_finish(store, error) != 0 ||
        take_position(store, STATEMENT_TRANSCRIPT_FIRST, vat, incarnation, first, &found, error) !=
            0 ||
        take_position(store, STATEMENT_TRANSCRIPT_LAST, vat, incarnation, &last, &found, error) !=
            0)
        return -1;
    *end = last + 1;
    return 0;
}

static int delete_rows(struct store *store, int64_t vat, struct error *error)
{
    const struct row row = transcripts_row_of(vat, 0, 0);
    uint64_t sum;

    if (cached_rows_lose(store, &row, error) != 0)
        return -1;
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_LOOK_ALL, 1, vat);
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_DELETE_ALL, 1, vat);
    return rows_delete_all(store, STATEMENT_TRANSCRIPT_LOOK_ALL, STATEMENT_TRANSCRIPT_DELETE_ALL,
                           vat, &sum, error);
}

int store_transcript_delete_all(struct store *store, int64_t vat, struct error *error)
{
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, delete_rows(store, vat, error), error);
}
