/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/rows.h"
#include "store/statements.h"
#include "store/store.h"

static struct row transcripts_row_of(int64_t vat, int64_t incarnation, int64_t position)
{
    return (struct row){.table = ROW_TRANSCRIPT, .numbers = {vat, incarnation, position}};
}

int store_transcript_add(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct iovec item, struct error *error)
{
    struct row row = transcripts_row_of(vat, incarnation, position);
    struct row_change change = {0}; /* a second item in its place is refused by the table */
    bool own;

    row.value = item;
    if (rows_enter(store, &own, error) != 0)
        return -1;
    return rows_leave(store, own, rows_put(store, &row, &change, error), error);
}

int store_transcript_get(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct buf *item, bool *found, struct error *error)
{
    const struct row row = transcripts_row_of(vat, incarnation, position);

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
    if (take_position(store, STATEMENT_TRANSCRIPT_FIRST, vat, incarnation, first, &found, error) !=
            0 ||
        take_position(store, STATEMENT_TRANSCRIPT_LAST, vat, incarnation, &last, &found, error) !=
            0)
        return -1;
    *end = last + 1;
    return 0;
}

int store_transcript_delete_all(struct store *store, int64_t vat, struct error *error)
{
    uint64_t sum;
    bool own;
    int result;

    if (rows_enter(store, &own, error) != 0)
        return -1;
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_LOOK_ALL, 1, vat);
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_DELETE_ALL, 1, vat);
    result = rows_delete_all(store, STATEMENT_TRANSCRIPT_LOOK_ALL, STATEMENT_TRANSCRIPT_DELETE_ALL,
                             vat, &sum, error);
    return rows_leave(store, own, result, error);
}
