/* SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshot/snapshot_bytes.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/hex.h"
#include "base/io.h"
#include "base/output/packer.h"
#include "store/integrity/page_vfs.h"
#include "store/integrity/rows.h"
#include "store/store_internal.h"

enum { CHUNK = 256 * 1024 };

/* One direction or the other, and the hash of what is not compressed. */
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

static int finish_hash(struct passage *passage, char hash[STORE_HASH_SIZE], struct error *error)
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

static int pack(struct passage *passage, int fd, struct buf *compressed,
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
    return finish_hash(passage, snapshot->hash, error);
}

int snapshot_bytes_pack(int fd, struct buf *compressed, struct store_snapshot *snapshot,
                        struct error *error)
{
    struct passage passage;
    int result = passage_open(&passage, error);

    if (result == 0)
        result = pack(&passage, fd, compressed, snapshot, error);
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
        result = finish_hash(&passage, found, error);
    if (result == 0 && strcmp(found, hash) != 0)
        result = error_set(error, ERROR_SYSTEM, "it is damaged: its SHA-256 is %s", found);
    passage_close(&passage);
    return result;
}

struct row snapshot_content_row(const struct store_snapshot *snapshot)
{
    return (struct row){.table = ROW_CONTENT,
                        .numbers = {snapshot->size, snapshot->compressed_size},
                        .key = {(void *)(uintptr_t)snapshot->hash, strlen(snapshot->hash)}};
}

int snapshot_content_put(struct store *store, const struct store_snapshot *snapshot,
                         struct iovec compressed, struct error *error)
{
    const struct row row = snapshot_content_row(snapshot);
    struct row_change change;

    if (rows_look(store, &row, &change, error) != 0)
        return -1;
    return change.was ? 0 : rows_put_with(store, &row, compressed, &change, error);
}

/* Contents that are not referred to. SQLite cannot free one with a damaged page: it stays, or its
 * vat could not be ended, upgraded or released, and no other one saved. */
static int sweep_contents(struct store *store, struct error *error)
{
    uint64_t sum;

    if (rows_delete_all(store, STATEMENT_CONTENT_UNUSED, STATEMENT_CONTENT_SWEEP, 0, &sum, error) ==
        0)
        return 0;
    return sqlite3_extended_errcode(store->database) == PAGE_VFS_DAMAGED ? 0 : -1;
}

int snapshot_sweep(struct store *store, int64_t vat, int kept, struct error *error)
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

int snapshot_record_put(struct store *store, const struct row *row, struct error *error)
{
    struct row_change change;

    if (rows_look(store, row, &change, error) != 0 || rows_put(store, row, &change, error) != 0)
        return -1;
    return row->table == ROW_SNAPSHOT
               ? snapshot_sweep(store, row->numbers[0], SNAPSHOTS_KEPT, error)
               : sweep_contents(store, error);
}
