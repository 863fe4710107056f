/* SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshot_bytes.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/io.h"

enum { CHUNK = 256 * 1024, LEVEL = 3 };

/* One direction or the other, and the hash of what is not compressed. */
struct passage {
    char *chunk;
    EVP_MD_CTX *hash;
    ZSTD_CCtx *packer;
    ZSTD_DCtx *unpacker;
};

static int passage_open(struct passage *passage, bool packs, struct error *error)
{
    *passage = (struct passage){.chunk = malloc(CHUNK), .hash = EVP_MD_CTX_new()};
    if (packs)
        passage->packer = ZSTD_createCCtx();
    else
        passage->unpacker = ZSTD_createDCtx();
    if (passage->chunk == NULL || passage->hash == NULL ||
        (passage->packer == NULL && passage->unpacker == NULL))
        return error_memory(error, "a snapshot");
    if (EVP_DigestInit_ex(passage->hash, EVP_sha256(), NULL) != 1 ||
        (packs &&
         ZSTD_isError(ZSTD_CCtx_setParameter(passage->packer, ZSTD_c_compressionLevel, LEVEL))))
        return error_set(error, ERROR_SYSTEM, "a snapshot cannot be hashed and compressed");
    return 0;
}

static void passage_close(struct passage *passage)
{
    free(passage->chunk);
    EVP_MD_CTX_free(passage->hash);
    ZSTD_freeCCtx(passage->packer);
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
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hash + 2 * i, 3, "%02x", digest[i]);
    return 0;
}

/* Compresses one chunk, which with `how` ZSTD_e_end is the last. */
static int compress(struct passage *passage, size_t length, ZSTD_EndDirective how,
                    struct buf *compressed, struct error *error)
{
    ZSTD_inBuffer in = {.src = passage->chunk, .size = length};
    size_t left;

    do {
        ZSTD_outBuffer out;

        if (buf_reserve(compressed, ZSTD_CStreamOutSize()) != 0)
            return error_memory(error, "a snapshot");
        out = (ZSTD_outBuffer){compressed->data + compressed->length,
                               compressed->capacity - compressed->length, 0};
        left = ZSTD_compressStream2(passage->packer, &out, &in, how);
        if (ZSTD_isError(left))
            return error_set(error, ERROR_SYSTEM, "a snapshot cannot be compressed: %s",
                             ZSTD_getErrorName(left));
        compressed->length += out.pos;
    } while (how == ZSTD_e_end ? left != 0 : in.pos < in.size);
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

    while ((count = read_chunk(fd, passage->chunk, error)) > 0) {
        size += count;
        if (add_to_hash(passage, passage->chunk, (size_t)count, error) != 0 ||
            compress(passage, (size_t)count, ZSTD_e_continue, compressed, error) != 0)
            return -1;
    }
    if (count < 0 || compress(passage, 0, ZSTD_e_end, compressed, error) != 0)
        return -1;
    snapshot->size = size;
    snapshot->compressed_size = (int64_t)(compressed->length - before);
    return finish_hash(passage, snapshot->hash, error);
}

int snapshot_bytes_pack(int fd, struct buf *compressed, struct store_snapshot *snapshot,
                        struct error *error)
{
    struct passage passage;
    int result = passage_open(&passage, true, error);

    if (result == 0)
        result = pack(&passage, fd, compressed, snapshot, error);
    passage_close(&passage);
    return result;
}

static int unpack(struct passage *passage, struct iovec compressed, int fd, struct error *error)
{
    ZSTD_inBuffer in = {.src = compressed.iov_base, .size = compressed.iov_len};
    size_t left = 1;

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
    int result = passage_open(&passage, false, error);

    if (result == 0)
        result = unpack(&passage, compressed, fd, error);
    if (result == 0)
        result = finish_hash(&passage, found, error);
    if (result == 0 && strcmp(found, hash) != 0)
        result = error_set(error, ERROR_SYSTEM, "it is damaged: its SHA-256 is %s", found);
    passage_close(&passage);
    return result;
}
