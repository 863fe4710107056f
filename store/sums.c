/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/cached_rows.h"
#include "store/statements.h"
#include "store/store.h"

static int query_sum(struct store *store, const char *text, struct store_sum *sum,
                     struct error *error)
{
    int64_t numbers[2];

    if (statements_query(store, text, numbers, 2, error) != 0)
        return -1;
    *sum = (struct store_sum){.items = numbers[0], .bytes = numbers[1]};
    return 0;
}

static int sum_tables(struct store *store, struct store_sums *sums, struct error *error)
{
    if (query_sum(store,
                  "SELECT count(*), coalesce(sum(length(CAST(name AS BLOB)) + length(value)), 0) "
                  "FROM key",
                  &sums->keys, error) != 0 ||
        query_sum(store,
                  "SELECT count(*), coalesce(sum(length(key) + length(value)), 0) FROM vatstore",
                  &sums->vatstores, error) != 0 ||
        query_sum(store, "SELECT count(*), coalesce(sum(length(item)), 0) FROM transcript",
                  &sums->transcripts, error) != 0 ||
        query_sum(store, "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM snapshot_content",
                  &sums->snapshots, error) != 0)
        return -1;
    return query_sum(store, "SELECT count(*), coalesce(sum(length(json)), 0) FROM bundle",
                     &sums->bundles, error);
}

int store_sum_all(struct store *store, struct store_sums *sums, struct error *error)
{
    struct store_sum pages, free_pages;

    if (key_writes_finish(store, error) != 0 || sum_tables(store, sums, error) != 0 ||
        query_sum(store, "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size",
                  &pages, error) != 0 ||
        query_sum(store,
                  "SELECT freelist_count, page_size FROM pragma_freelist_count, pragma_page_size",
                  &free_pages, error) != 0)
        return -1;
    sums->file_bytes = pages.items * pages.bytes;
    sums->free_bytes = free_pages.items * free_pages.bytes;
    return 0;
}

int store_vat_sum(struct store *store, int64_t vat, struct store_sum *sum, struct error *error)
{
    int result;
    bool row;

    if (key_writes_finish(store, error) != 0)
        return -1;
    statement_bind_integer(store, STATEMENT_VAT_SUM, 1, vat);
    result = statement_step(store, STATEMENT_VAT_SUM, &row, error);
    if (row) {
        sum->items = statement_integer(store, STATEMENT_VAT_SUM, 0);
        sum->bytes = statement_integer(store, STATEMENT_VAT_SUM, 1);
    }
    statement_done(store, STATEMENT_VAT_SUM);
    return result;
}
