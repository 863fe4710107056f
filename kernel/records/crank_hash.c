/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/crank_hash.h"

#include <endian.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/hex.h"
#include "kernel/records/keys.h"
#include "kernel/records/limits.h"
#include "kernel/state.h"
#include "store/store.h"

enum { HASH_BYTES = 32 };

static void append_piece(struct buf *changes, const void *bytes, size_t length)
{
    uint64_t little_endian = htole64(length);

    buf_append(changes, &little_endian, sizeof little_endian);
    if (length > 0)
        buf_append(changes, bytes, length);
}

static bool is_callers(struct iovec key)
{
    static const char callers[] = "input.";

    return key.iov_len >= sizeof callers - 1 &&
           memcmp(key.iov_base, callers, sizeof callers - 1) == 0;
}

static void changed(void *context, const struct store_changed *change)
{
    struct kernel *kernel = context;

    if (is_callers(change->key) || limits_is_record(change->key))
        return;
    buf_append_byte(&kernel->changes, change->what);
    append_piece(&kernel->changes, change->key.iov_base, change->key.iov_len);
    append_piece(&kernel->changes, change->value.iov_base, change->value.iov_len);
}

void crank_hash_watch(struct kernel *kernel)
{
    store_watch(kernel->store, changed, kernel);
}

void crank_hash_note(struct kernel *kernel, char what, const char *bytes, size_t length)
{
    buf_append_byte(&kernel->changes, what);
    append_piece(&kernel->changes, "", 0);
    append_piece(&kernel->changes, bytes, length);
}

/* Looking the digest up costs more than hashing what a crank changes: once for all. */
static const EVP_MD *sha256(void)
{
    static EVP_MD *digest;

    if (digest == NULL)
        digest = EVP_MD_fetch(NULL, "SHA256", NULL);
    return digest;
}

static int hash(const struct buf *bytes, char hex[KERNEL_HASH_SIZE], struct error *error)
{
    unsigned char digest[HASH_BYTES];

    if (buf_failed(bytes))
        return error_memory(error, "what a crank did");
    if (sha256() == NULL ||
        EVP_Digest(bytes->data, bytes->length, digest, NULL, sha256(), NULL) != 1)
        return error_set(error, ERROR_SYSTEM, "SHA-256 failed");
    hex_write(hex, digest, HASH_BYTES);
    return 0;
}

/* Puts the hash of the changes behind the activity hash, which then is the hash of both. */
static int chain_changes(struct kernel *kernel, char crankhash[KERNEL_HASH_SIZE],
                         char activityhash[KERNEL_HASH_SIZE], struct error *error)
{
    struct buf chain = {0};
    bool found;
    int result = -1;

    if (hash(&kernel->changes, crankhash, error) != 0 ||
        keys_get(kernel, "activityhash", &chain, &found, error) != 0)
        goto out;
    buf_append(&chain, crankhash, KERNEL_HASH_SIZE - 1);
    if (hash(&chain, activityhash, error) != 0)
        goto out;
    result = keys_set(kernel, "activityhash", activityhash, error);
    buf_clear(&kernel->changes);
out:
    buf_free(&chain);
    return result;
}

int crank_hash_outside(struct kernel *kernel, int result, struct error *error)
{
    char crankhash[KERNEL_HASH_SIZE], activityhash[KERNEL_HASH_SIZE];

    if (result != 0 || kernel->crank.under_way || kernel->changes.length == 0)
        return result;
    return chain_changes(kernel, crankhash, activityhash, error);
}

int crank_hash_finish(struct kernel *kernel, struct kernel_crank_end *end, struct error *error)
{
    return chain_changes(kernel, end->crankhash, end->activityhash, error);
}
