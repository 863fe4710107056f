/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "store/integrity/rows.h"
#include "store/snapshot/snapshot_bytes.h"
#include "store/statements.h"
#include "store/store.h"
#include "store/store_internal.h"

static struct iovec snapshots_text_of(const char *text)
{
    return (struct iovec){(void *)(uintptr_t)text, strlen(text)};
}

/* Keeps the content, which nobody refers to yet. */
static int put_content(struct store *store, int fd, struct store_snapshot *snapshot,
                       struct error *error)
{
    struct buf compressed = {0};
    int result = snapshot_bytes_pack(fd, &compressed, snapshot, error);

    if (result == 0)
        result = snapshot_content_put(store, snapshot,
                                      (struct iovec){compressed.data, compressed.length}, error);
    buf_free(&compressed);
    return result;
}

static int put_snapshot(struct store *store, struct row *row, int fd,
                        struct store_snapshot *snapshot, struct error *error)
{
    if (put_content(store, fd, snapshot, error) != 0)
        return -1;
    row->value = snapshots_text_of(snapshot->hash);
    return snapshot_record_put(store, row, error);
}

int store_snapshot_put(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                       int fd, struct store_snapshot *snapshot, struct error *error)
{
    struct row row = {.table = ROW_SNAPSHOT, .numbers = {vat, incarnation, position}};
    bool own;

    if (store_snapshot_settle(store, error) != 0 || transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, put_snapshot(store, &row, fd, snapshot, error), error);
}

int store_snapshot_put_named(struct store *store, const char *name, int fd,
                             struct store_snapshot *snapshot, struct error *error)
{
    struct row row = {.table = ROW_NAMED, .key = snapshots_text_of(name)};
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, put_snapshot(store, &row, fd, snapshot, error), error);
}

static int put_packed(struct store *store, struct row *row, const struct store_snapshot *snapshot,
                      struct iovec compressed, struct error *error)
{
    row->value = snapshots_text_of(snapshot->hash);
    if (snapshot_content_put(store, snapshot, compressed, error) != 0)
        return -1;
    return snapshot_record_put(store, row, error);
}

int store_snapshot_put_packed(struct store *store, const char *name,
                              const struct store_snapshot *snapshot, struct iovec compressed,
                              struct error *error)
{
    struct row row = {.table = ROW_NAMED, .key = snapshots_text_of(name)};
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, put_packed(store, &row, snapshot, compressed, error),
                             error);
}

static int lost(const struct store *store, const char *hash, struct error *error)
{
    return store_error_set(store, error, ERROR_SYSTEM, "the store is damaged: no snapshot %.64s",
                           hash);
}

static int take_hash(struct store *store, struct iovec bytes, char hash[STORE_HASH_SIZE],
                     struct error *error)
{
    if (bytes.iov_len != STORE_HASH_SIZE - 1)
        return store_error_set(store, error, ERROR_SYSTEM,
                               "the store is damaged: a snapshot's hash of %zu "
                               "digits",
                               bytes.iov_len);
    memcpy(hash, bytes.iov_base, bytes.iov_len);
    hash[bytes.iov_len] = '\0';
    return 0;
}

static int take_sizes(struct store *store, struct store_snapshot *snapshot, struct error *error)
{
    struct row row;

    snapshot->size = statement_integer(store, STATEMENT_CONTENT_SIZES, 0);
    snapshot->compressed_size = statement_integer(store, STATEMENT_CONTENT_SIZES, 1);
    row = snapshot_content_row(snapshot);
    return row_check(store, &row, (uint64_t)statement_integer(store, STATEMENT_CONTENT_SIZES, 2),
                     error);
}

static int find_sizes(struct store *store, struct store_snapshot *snapshot, struct error *error)
{
    int result;
    bool found;

    statement_bind_text(store, STATEMENT_CONTENT_SIZES, 1, snapshots_text_of(snapshot->hash));
    result = statement_step(store, STATEMENT_CONTENT_SIZES, &found, error);
    if (found)
        result = take_sizes(store, snapshot, error);
    else if (result == 0)
        result = lost(store, snapshot->hash, error);
    statement_done(store, STATEMENT_CONTENT_SIZES);
    return result;
}

/* Of the row that was found of the vat's snapshot. */
static int take_record(struct store *store, int64_t vat, int64_t incarnation, int64_t *position,
                       struct store_snapshot *snapshot, struct error *error)
{
    const enum statement which = STATEMENT_SNAPSHOT_GET;
    const struct row row = {.table = ROW_SNAPSHOT,
                            .numbers = {vat, incarnation, statement_integer(store, which, 0)},
                            .value = statement_bytes(store, which, 1)};

    *position = row.numbers[2];
    if (row_check(store, &row, (uint64_t)statement_integer(store, which, 2), error) != 0)
        return -1;
    return take_hash(store, row.value, snapshot->hash, error);
}

/* The vat's last snapshot of that incarnation, or the one before. */
static int find_snapshot(struct store *store, const int64_t place[2], bool before,
                         int64_t *position, struct store_snapshot *snapshot, bool *found,
                         struct error *error)
{
    const enum statement which = STATEMENT_SNAPSHOT_GET;
    int result;

    *found = false;
    if (store_snapshot_settle(store, error) != 0)
        return -1;
    statement_bind_integer(store, which, 1, place[0]);
    statement_bind_integer(store, which, 2, place[1]);
    statement_bind_integer(store, which, 3, before);
    result = statement_step(store, which, found, error);
    if (*found)
        result = take_record(store, place[0], place[1], position, snapshot, error);
    statement_done(store, which);
    if (result == 0 && *found)
        result = find_sizes(store, snapshot, error);
    return result;
}

int store_snapshot_last(struct store *store, int64_t vat, int64_t incarnation, int64_t *position,
                        struct store_snapshot *snapshot, bool *found, struct error *error)
{
    return find_snapshot(store, (int64_t[]){vat, incarnation}, false, position, snapshot, found,
                         error);
}

int store_snapshot_before(struct store *store, int64_t vat, int64_t incarnation, int64_t *position,
                          struct store_snapshot *snapshot, bool *found, struct error *error)
{
    return find_snapshot(store, (int64_t[]){vat, incarnation}, true, position, snapshot, found,
                         error);
}

int store_snapshot_named(struct store *store, const char *name, struct store_snapshot *snapshot,
                         bool *found, struct error *error)
{
    const struct row row = {.table = ROW_NAMED, .key = snapshots_text_of(name)};
    struct buf hash = {0};
    int result = rows_get(store, &row, &hash, found, error);

    if (result == 0 && *found)
        result = take_hash(store, (struct iovec){hash.data, hash.length}, snapshot->hash, error);
    buf_free(&hash);
    if (result == 0 && *found)
        result = find_sizes(store, snapshot, error);
    return result;
}

static int delete_snapshot(struct store *store, const struct row *row, struct error *error)
{
    struct row_change change;

    if (rows_look(store, row, &change, error) != 0 || rows_delete(store, row, &change, error) != 0)
        return -1;
    return snapshot_sweep(store, row->numbers[0], SNAPSHOTS_KEPT, error);
}

int store_snapshot_delete(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                          struct error *error)
{
    const struct row row = {.table = ROW_SNAPSHOT, .numbers = {vat, incarnation, position}};
    bool own;

    if (store_snapshot_settle(store, error) != 0 || transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, delete_snapshot(store, &row, error), error);
}

int store_snapshot_delete_all(struct store *store, int64_t vat, struct error *error)
{
    bool own;

    if (store_snapshot_settle(store, error) != 0 || transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, snapshot_sweep(store, vat, 0, error), error);
}

int store_snapshot_read(struct store *store, const char *hash, int fd, struct error *error)
{
    struct error reason;
    bool found;
    int result;

    statement_bind_text(store, STATEMENT_CONTENT_GET, 1, snapshots_text_of(hash));
    result = statement_step(store, STATEMENT_CONTENT_GET, &found, error);
    if (found) {
        result = snapshot_bytes_unpack(statement_bytes(store, STATEMENT_CONTENT_GET, 0), hash, fd,
                                       &reason);
        if (result != 0)
            store_error_set(store, error, reason.kind, "snapshot %.12s...: %s", hash, reason.text);
    } else if (result == 0) {
        result = lost(store, hash, error);
    }
    statement_done(store, STATEMENT_CONTENT_GET);
    return result;
}
