/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "store/snapshot_bytes.h"
#include "store/statements.h"
#include "store/store.h"
#include "store/store_error.h"

/* Keeps the content, which nobody refers to yet. */
static int put_content(struct store *store, int fd, struct store_snapshot *snapshot,
                       struct error *error)
{
    struct buf compressed = {0};
    int result = snapshot_bytes_pack(fd, &compressed, snapshot, error);

    if (result == 0) {
        statement_bind_text(store, STATEMENT_CONTENT_PUT, 1, snapshot->hash);
        statement_bind_integer(store, STATEMENT_CONTENT_PUT, 2, snapshot->size);
        statement_bind_blob(store, STATEMENT_CONTENT_PUT, 3,
                            (struct iovec){compressed.data, compressed.length});
        result = statement_run(store, STATEMENT_CONTENT_PUT, error);
    }
    buf_free(&compressed);
    return result;
}

/* Drops contents that nobody refers to any more. */
static int sweep(struct store *store, struct error *error)
{
    return statement_run(store, STATEMENT_CONTENT_SWEEP, error);
}

int store_snapshot_put(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                       int fd, struct store_snapshot *snapshot, struct error *error)
{
    if (put_content(store, fd, snapshot, error) != 0)
        return -1;
    statement_bind_integer(store, STATEMENT_SNAPSHOT_PUT, 1, vat);
    statement_bind_integer(store, STATEMENT_SNAPSHOT_PUT, 2, incarnation);
    statement_bind_integer(store, STATEMENT_SNAPSHOT_PUT, 3, position);
    statement_bind_text(store, STATEMENT_SNAPSHOT_PUT, 4, snapshot->hash);
    if (statement_run(store, STATEMENT_SNAPSHOT_PUT, error) != 0)
        return -1;
    return sweep(store, error);
}

int store_snapshot_put_named(struct store *store, const char *name, int fd,
                             struct store_snapshot *snapshot, struct error *error)
{
    if (put_content(store, fd, snapshot, error) != 0)
        return -1;
    statement_bind_text(store, STATEMENT_NAMED_PUT, 1, name);
    statement_bind_text(store, STATEMENT_NAMED_PUT, 2, snapshot->hash);
    if (statement_run(store, STATEMENT_NAMED_PUT, error) != 0)
        return -1;
    return sweep(store, error);
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

static int find_sizes(struct store *store, struct store_snapshot *snapshot, struct error *error)
{
    int result;
    bool found;

    statement_bind_text(store, STATEMENT_CONTENT_SIZES, 1, snapshot->hash);
    result = statement_step(store, STATEMENT_CONTENT_SIZES, &found, error);
    if (found) {
        snapshot->size = statement_integer(store, STATEMENT_CONTENT_SIZES, 0);
        snapshot->compressed_size = statement_integer(store, STATEMENT_CONTENT_SIZES, 1);
    } else if (result == 0) {
        result = lost(store, snapshot->hash, error);
    }
    statement_done(store, STATEMENT_CONTENT_SIZES);
    return result;
}

int store_snapshot_last(struct store *store, int64_t vat, int64_t incarnation, int64_t *position,
                        struct store_snapshot *snapshot, bool *found, struct error *error)
{
    int result;

    statement_bind_integer(store, STATEMENT_SNAPSHOT_GET, 1, vat);
    statement_bind_integer(store, STATEMENT_SNAPSHOT_GET, 2, incarnation);
    result = statement_step(store, STATEMENT_SNAPSHOT_GET, found, error);
    if (*found) {
        *position = statement_integer(store, STATEMENT_SNAPSHOT_GET, 0);
        result = take_hash(store, statement_bytes(store, STATEMENT_SNAPSHOT_GET, 1), snapshot->hash,
                           error);
    }
    statement_done(store, STATEMENT_SNAPSHOT_GET);
    if (result == 0 && *found)
        result = find_sizes(store, snapshot, error);
    return result;
}

int store_snapshot_named(struct store *store, const char *name, struct store_snapshot *snapshot,
                         bool *found, struct error *error)
{
    struct buf hash = {0};
    int result;

    statement_bind_text(store, STATEMENT_NAMED_GET, 1, name);
    result = statement_take_blob(store, STATEMENT_NAMED_GET, &hash, found, error);
    if (result == 0 && *found)
        result = take_hash(store, (struct iovec){hash.data, hash.length}, snapshot->hash, error);
    buf_free(&hash);
    if (result == 0 && *found)
        result = find_sizes(store, snapshot, error);
    return result;
}

int store_snapshot_delete(struct store *store, int64_t vat, struct error *error)
{
    statement_bind_integer(store, STATEMENT_SNAPSHOT_DELETE, 1, vat);
    if (statement_run(store, STATEMENT_SNAPSHOT_DELETE, error) != 0)
        return -1;
    return sweep(store, error);
}

int store_snapshot_read(struct store *store, const char *hash, int fd, struct error *error)
{
    struct error reason;
    bool found;
    int result;

    statement_bind_text(store, STATEMENT_CONTENT_GET, 1, hash);
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
