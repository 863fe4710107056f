/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/io.h"
#include "base/number.h"
#include "base/output/packer.h"
#include "base/thread.h"
#include "store/integrity/page_vfs.h"
#include "store/integrity/rows.h"
#include "store/statements.h"
#include "store/store.h"
#include "store/store_internal.h"

enum { CHUNK = 256 * 1024 };

/* For each vat: the last one, and the one before, in case the last one cannot be restored. */
enum { SNAPSHOTS_KEPT = 2 };

/* Compresses or decompresses, and hashes the uncompressed bytes. */
struct passage {
    char *chunk;
    EVP_MD_CTX *hash;
    struct packer *packer;
    ZSTD_DCtx *unpacker;
};

static int passage_open(struct passage *passage, struct error *error)
{
    *passage = (struct passage){.chunk = malloc(CHUNK), .hash = EVP_MD_CTX_new()};
    if (passage->chunk == NULL || passage->hash == NULL)
        return error_memory(error, "a snapshot");
    if (EVP_DigestInit_ex(passage->hash, EVP_sha256(), NULL) != 1)
        return error_set(error, ERROR_SYSTEM, "a snapshot cannot be hashed");
    return 0;
}

static void passage_close(struct passage *passage)
{
    free(passage->chunk);
    EVP_MD_CTX_free(passage->hash);
    packer_free(passage->packer);
    ZSTD_freeDCtx(passage->unpacker);
}

static int add_to_hash(struct passage *passage, const void *bytes, size_t length,
                       struct error *error)
{
    if (EVP_DigestUpdate(passage->hash, bytes, length) == 1)
        return 0;
    return error_set(error, ERROR_SYSTEM, "a snapshot cannot be hashed");
}

static int finish_snapshot_hash(struct passage *passage, char hash[STORE_HASH_SIZE],
                                struct error *error)
{
    unsigned char digest[32];

    if (EVP_DigestFinal_ex(passage->hash, digest, NULL) != 1)
        return error_set(error, ERROR_SYSTEM, "a snapshot cannot be hashed");
    hex_write(hash, digest, sizeof digest);
    return 0;
}

static ssize_t read_chunk(int fd, char *chunk, struct error *error)
{
    for (;;) {
        ssize_t count = read(fd, chunk, CHUNK);

        if (count >= 0)
            return count;
        if (errno != EINTR)
            return error_system(error, errno, "cannot read a snapshot");
    }
}

static int pack_passage(struct passage *passage, int fd, struct buf *compressed,
                        struct store_snapshot *snapshot, struct error *error)
{
    size_t before = compressed->length;
    int64_t size = 0;
    ssize_t count;

    passage->packer = packer_new(error);
    if (passage->packer == NULL)
        return -1;
    while ((count = read_chunk(fd, passage->chunk, error)) > 0) {
        size += count;
        if (add_to_hash(passage, passage->chunk, (size_t)count, error) != 0 ||
            packer_add(passage->packer, passage->chunk, (size_t)count, PACKER_GOES_ON, compressed,
                       error) != 0)
            return -1;
    }
    if (count < 0 || packer_add(passage->packer, NULL, 0, PACKER_FINISH, compressed, error) != 0)
        return -1;
    snapshot->size = size;
    snapshot->compressed_size = (int64_t)(compressed->length - before);
    return finish_snapshot_hash(passage, snapshot->hash, error);
}

int snapshot_bytes_pack(int fd, struct buf *compressed, struct store_snapshot *snapshot,
                        struct error *error)
{
    struct passage passage;
    int result = passage_open(&passage, error);

    if (result == 0)
        result = pack_passage(&passage, fd, compressed, snapshot, error);
    passage_close(&passage);
    return result;
}

static int unpack(struct passage *passage, struct iovec compressed, int fd, struct error *error)
{
    ZSTD_inBuffer in = {.src = compressed.iov_base, .size = compressed.iov_len};
    size_t left = 1;

    passage->unpacker = ZSTD_createDCtx();
    if (passage->unpacker == NULL)
        return error_memory(error, "a snapshot");
    while (left != 0) {
        ZSTD_outBuffer out = {.dst = passage->chunk, .size = CHUNK};

        left = ZSTD_decompressStream(passage->unpacker, &out, &in);
        if (ZSTD_isError(left))
            return error_set(error, ERROR_SYSTEM, "it is damaged: %s", ZSTD_getErrorName(left));
        if (left != 0 && in.pos == in.size && out.pos < out.size)
            return error_set(error, ERROR_SYSTEM, "it is damaged: its end is missing");
        if (add_to_hash(passage, out.dst, out.pos, error) != 0)
            return -1;
        if (io_write_all(fd, out.dst, out.pos) != 0)
            return error_system(error, errno, "it cannot be written");
    }
    return 0;
}

int snapshot_bytes_unpack(struct iovec compressed, const char *hash, int fd, struct error *error)
{
    char found[STORE_HASH_SIZE];
    struct passage passage;
    int result = passage_open(&passage, error);

    if (result == 0)
        result = unpack(&passage, compressed, fd, error);
    if (result == 0)
        result = finish_snapshot_hash(&passage, found, error);
    if (result == 0 && strcmp(found, hash) != 0)
        result = error_set(error, ERROR_SYSTEM, "it is damaged: its SHA-256 is %s", found);
    passage_close(&passage);
    return result;
}

/* Its checksum covers the sizes and the hash, which is borrowed; the hash covers the bytes. */
static struct row snapshot_content_row(const struct store_snapshot *snapshot)
{
    return (struct row){.table = ROW_CONTENT,
                        .numbers = {snapshot->size, snapshot->compressed_size},
                        .key = {(void *)(uintptr_t)snapshot->hash, strlen(snapshot->hash)}};
}

/* Stores the compressed bytes, unless the store has them already. */
static int snapshot_content_put(struct store *store, const struct store_snapshot *snapshot,
                                struct iovec compressed, struct error *error)
{
    const struct row row = snapshot_content_row(snapshot);
    struct row_change change;

    if (rows_look(store, &row, &change, error) != 0)
        return -1;
    return change.was ? 0 : rows_put_with(store, &row, compressed, &change, error);
}

/* Deletes contents that no row refers to. SQLite cannot free one with a damaged page: it stays,
 * because otherwise no vat could be terminated, upgraded or saved again. */
static int sweep_contents(struct store *store, struct error *error)
{
    uint64_t sum;

    if (rows_delete_all(store, STATEMENT_CONTENT_UNUSED, STATEMENT_CONTENT_SWEEP, 0, &sum, error) ==
        0)
        return 0;
    return sqlite3_extended_errcode(store->database) == PAGE_VFS_DAMAGED ? 0 : -1;
}

/* Deletes the vat's snapshots but the `kept` last ones, and contents that nothing refers to. */
static int snapshot_sweep(struct store *store, int64_t vat, int kept, struct error *error)
{
    static const enum statement which[] = {STATEMENT_SNAPSHOT_OLD, STATEMENT_SNAPSHOT_SWEEP};
    uint64_t sum;

    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        statement_bind_integer(store, which[i], 1, vat);
        statement_bind_integer(store, which[i], 2, kept);
    }
    if (rows_delete_all(store, which[0], which[1], vat, &sum, error) != 0)
        return -1;
    return sweep_contents(store, error);
}

/* Writes the row of a vat's snapshot (ROW_SNAPSHOT) or a named one (ROW_NAMED), and deletes the
 * vat's older snapshots and contents that no row refers to. */
static int snapshot_record_put(struct store *store, const struct row *row, struct error *error)
{
    struct row_change change;

    if (rows_look(store, row, &change, error) != 0 || rows_put(store, row, &change, error) != 0)
        return -1;
    return row->table == ROW_SNAPSHOT
               ? snapshot_sweep(store, row->numbers[0], SNAPSHOTS_KEPT, error)
               : sweep_contents(store, error);
}

static struct iovec snapshots_text_of(const char *text)
{
    return (struct iovec){(void *)(uintptr_t)text, strlen(text)};
}

static int put_packed(struct store *store, struct row *row, const struct store_snapshot *snapshot,
                      struct iovec compressed, struct error *error)
{
    row->value = snapshots_text_of(snapshot->hash);
    if (snapshot_content_put(store, snapshot, compressed, error) != 0)
        return -1;
    return snapshot_record_put(store, row, error);
}

static int put_snapshot(struct store *store, struct row *row, int fd,
                        struct store_snapshot *snapshot, struct error *error)
{
    struct buf compressed = {0};
    int result = snapshot_bytes_pack(fd, &compressed, snapshot, error);

    if (result == 0)
        result = put_packed(store, row, snapshot,
                            (struct iovec){compressed.data, compressed.length}, error);
    buf_free(&compressed);
    return result;
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

/* Takes position and hash from the row that STATEMENT_SNAPSHOT_GET found. */
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

/* ---- snapshots that a thread compresses and hashes ---- */

/* Held by the thread that packs: several would take the CPUs from the cranks meanwhile. */
static pthread_mutex_t packing_turn = PTHREAD_MUTEX_INITIALIZER;

/* Starts on a different CPU than the cranks; Linux may move the thread later. */
static void leave_cpu(const struct store *store)
{
    const int here = sched_getcpu();
    cpu_set_t others = store->cpus;

    if (here >= 0)
        CPU_CLR((size_t)here, &others);
    if (CPU_COUNT(&others) > 0)
        (void)sched_setaffinity(0, sizeof others, &others);
    store_place_thread(store);
}

static void *run_packing(void *argument)
{
    struct background_snapshot *background = argument;

    leave_cpu(background->store);
    (void)pthread_mutex_lock(&packing_turn); /* cannot fail: this thread has not locked it */
    background->result = snapshot_bytes_pack(background->fd, &background->compressed,
                                             &background->snapshot, &background->error);
    (void)pthread_mutex_unlock(&packing_turn);
    /* Here, since that may free as much memory as the snapshot has bytes. */
    close(background->fd);
    atomic_store(&background->packed, true);
    return NULL;
}

static void forget(struct store *store, struct background_snapshot *background)
{
    struct background_snapshot **link = &store->background;

    while (*link != background)
        link = &(*link)->next;
    *link = background->next;
    buf_free(&background->compressed);
    free(background);
}

bool store_snapshot_is_pending(const struct store *store)
{
    for (const struct background_snapshot *at = store->background; at != NULL; at = at->next)
        if (at->state == BACKGROUND_PACKING && !atomic_load(&at->packed))
            return true;
    return false;
}

/* Waits for the thread, and reports the snapshot. Forgets it if it could not be packed. */
static int end_packing(struct store *store, struct background_snapshot *background,
                       struct error *error)
{
    (void)pthread_join(background->thread, NULL); /* cannot fail: it is joined once */
    if (background->result != 0) {
        *error = background->error;
        forget(store, background);
        return -1;
    }
    background->state = BACKGROUND_PACKED;
    if (background->listener.kept == NULL)
        return 0;
    return background->listener.kept(background->listener.context, &background->snapshot, error);
}

/* May forget it. */
static int settle_background(struct store *store, struct background_snapshot *background,
                             struct error *error)
{
    struct row row = {.table = ROW_SNAPSHOT,
                      .numbers = {background->vat, background->incarnation, background->position}};

    if (background->state == BACKGROUND_PACKING && end_packing(store, background, error) != 0)
        return -1;
    if (background->state != BACKGROUND_PACKED)
        return 0;
    if (put_packed(store, &row, &background->snapshot,
                   (struct iovec){background->compressed.data, background->compressed.length},
                   error) != 0)
        return -1;
    background->state = BACKGROUND_PUT;
    background->savepoints = store->cache.savepoint_count;
    if (background->savepoints == 0)
        forget(store, background);
    return 0;
}

int store_snapshot_settle(struct store *store, struct error *error)
{
    for (struct background_snapshot *next, *at = store->background; at != NULL; at = next) {
        next = at->next;
        if (settle_background(store, at, error) != 0)
            return -1;
    }
    return 0;
}

static void undo_puts(struct store *store)
{
    for (struct background_snapshot *at = store->background; at != NULL; at = at->next)
        if (at->state == BACKGROUND_PUT && at->savepoints > store->cache.savepoint_count)
            at->state = BACKGROUND_PACKED;
}

static void release_puts(struct store *store)
{
    for (struct background_snapshot *next, *at = store->background; at != NULL; at = next) {
        next = at->next;
        if (at->state != BACKGROUND_PUT || at->savepoints <= store->cache.savepoint_count)
            continue;
        at->savepoints = store->cache.savepoint_count;
        if (at->savepoints == 0)
            forget(store, at);
    }
}

static void drop_background(struct store *store)
{
    struct error ignored; /* nothing of it is kept */

    while (store->background != NULL)
        if (store->background->state != BACKGROUND_PACKING ||
            end_packing(store, store->background, &ignored) == 0)
            forget(store, store->background);
}

static bool are_too_many(const struct store *store)
{
    int count = 0;

    for (const struct background_snapshot *at = store->background; at != NULL; at = at->next)
        count++;
    return count >= STORE_BACKGROUND_MAX;
}

/* Starts the thread and appends it to the list. -1: neither; `fd` is the caller's still. */
static int add_background(struct store *store, const struct background_snapshot *values,
                          struct error *error)
{
    struct background_snapshot *background = malloc(sizeof *background);
    struct background_snapshot **link = &store->background;
    int result;

    if (background == NULL)
        return error_memory(error, "a snapshot");
    *background = *values;
    result = thread_start(&background->thread, run_packing, background);
    if (result != 0) {
        free(background);
        return error_system(error, result, "cannot start a thread for a snapshot");
    }
    while (*link != NULL)
        link = &(*link)->next;
    *link = background;
    return 0;
}

int store_snapshot_put_in_background(struct store *store, int64_t vat, int64_t incarnation,
                                     int64_t position, int fd,
                                     const struct store_background_listener *listener,
                                     struct error *error)
{
    static const struct transaction_watch watch = {
        .commits = store_snapshot_settle,
        .undone = undo_puts,
        .released = release_puts,
        .dropped = drop_background,
    };
    const struct background_snapshot values = {
        .store = store,
        .vat = vat,
        .incarnation = incarnation,
        .position = position,
        .fd = fd,
        .listener = *listener,
    };

    if ((are_too_many(store) && store_snapshot_settle(store, error) != 0) ||
        add_background(store, &values, error) != 0) {
        close(fd);
        return -1;
    }
    store->watch = &watch;
    return 0;
}
