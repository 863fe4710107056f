/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statements.h"
#include "store/store.h"

int store_transcript_add(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct iovec item, struct error *error)
{
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_ADD, 1, vat);
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_ADD, 2, incarnation);
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_ADD, 3, position);
    statement_bind_blob(store, STATEMENT_TRANSCRIPT_ADD, 4, item);
    return statement_run(store, STATEMENT_TRANSCRIPT_ADD, error);
}

int store_transcript_get(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct buf *item, bool *found, struct error *error)
{
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_GET, 1, vat);
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_GET, 2, incarnation);
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_GET, 3, position);
    return statement_take_blob(store, STATEMENT_TRANSCRIPT_GET, item, found, error);
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
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_DELETE_ALL, 1, vat);
    return statement_run(store, STATEMENT_TRANSCRIPT_DELETE_ALL, error);
}
