/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/crank_hash.h"

#include <endian.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/number.h"
#include "base/text/format.h"
#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/records/limits.h"
#include "kernel/state.h"
#include "store/integrity/check.h"
#include "store/store.h"

enum { HASH_BYTES = 32 };

static const char activity_key[] = "activityhash";

static void append_piece(struct spool *changes, const void *bytes, size_t length)
{
    uint64_t little_endian = htole64(length);

    spool_append(changes, &little_endian, sizeof little_endian);
    if (length > 0)
        spool_append(changes, bytes, length);
}

static bool begins_with(struct iovec key, const char *beginning)
{
    const size_t length = strlen(beginning);

    return key.iov_len >= length && memcmp(key.iov_base, beginning, length) == 0;
}

static bool is_hash(struct iovec key)
{
    return key.iov_len == sizeof activity_key - 1 &&
           memcmp(key.iov_base, activity_key, key.iov_len) == 0;
}

/* Returns true for keys of the kernel that are hashed. */
static bool is_state(struct iovec key)
{
    return !begins_with(key, "input.") && !begins_with(key, STORE_LOST) && !limits_is_record(key) &&
           !is_hash(key);
}

static void changed(void *context, const struct store_changed *change)
{
    struct kernel *kernel = context;

    if (!is_state(change->key))
        return;
    kernel->state.sum += change->after - change->before;
    spool_append(&kernel->changes, &change->what, 1);
    append_piece(&kernel->changes, change->key.iov_base, change->key.iov_len);
    append_piece(&kernel->changes, change->value.iov_base, change->value.iov_len);
}

void crank_hash_watch(struct kernel *kernel)
{
    store_watch(kernel->store, changed, kernel);
}

void crank_hash_note(struct kernel *kernel, char what, const char *bytes, size_t length)
{
    spool_append(&kernel->changes, &what, 1);
    append_piece(&kernel->changes, "", 0);
    append_piece(&kernel->changes, bytes, length);
}

/* Creates the digest and context once, because both cost more than hashing a crank's changes.
 * NULL: out of memory. */
static EVP_MD_CTX *begin_hash(void)
{
    static EVP_MD *sha256;
    static EVP_MD_CTX *hashing;

    if (sha256 == NULL)
        sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (hashing == NULL)
        hashing = EVP_MD_CTX_new();
    if (sha256 == NULL || hashing == NULL || EVP_DigestInit_ex2(hashing, sha256, NULL) != 1)
        return NULL;
    return hashing;
}

static int hash_piece(void *hashing, struct iovec piece)
{
    return EVP_DigestUpdate(hashing, piece.iov_base, piece.iov_len) == 1 ? 0 : 1;
}

static int finish_sha256(EVP_MD_CTX *hashing, int result, char hex[KERNEL_HASH_SIZE],
                         struct error *error)
{
    unsigned char digest[HASH_BYTES];

    if (result > 0 || EVP_DigestFinal_ex(hashing, digest, NULL) != 1)
        return error_set(error, ERROR_SYSTEM, "SHA-256 failed");
    hex_write(hex, digest, HASH_BYTES);
    return 0;
}

static int hash_spool(struct spool *bytes, char hex[KERNEL_HASH_SIZE], struct error *error)
{
    EVP_MD_CTX *hashing = begin_hash();
    const int result = hashing == NULL ? 1 : spool_each(bytes, hash_piece, hashing, error);

    return result < 0 ? -1 : finish_sha256(hashing, result, hex, error);
}

static int sha256_of_bytes(const char *bytes, size_t length, char hex[KERNEL_HASH_SIZE],
                           struct error *error)
{
    EVP_MD_CTX *hashing = begin_hash();
    const bool hashed = hashing != NULL && EVP_DigestUpdate(hashing, bytes, length) == 1;

    return finish_sha256(hashing, hashed ? 0 : 1, hex, error);
}

/* ---- the running hash of the state ---- */

/* The record after the last crank: the activity hash ("" before the first), and the running hash
 * of the state, if known. */
static int read_end(struct kernel *kernel, char activityhash[KERNEL_HASH_SIZE],
                    struct state_sum *state, struct error *error)
{
    struct buf record = {0};
    const char *text;
    bool found;
    int result = keys_get(kernel, activity_key, &record, &found, error);

    *state = (struct state_sum){0};
    memset(activityhash, 0, KERNEL_HASH_SIZE);
    text = buf_string(&record);
    if (result == 0 && text == NULL)
        result = error_memory(error, "the activity hash");
    if (result == 0 && record.length >= KERNEL_HASH_SIZE - 1) {
        memcpy(activityhash, text, KERNEL_HASH_SIZE - 1);
        text += KERNEL_HASH_SIZE - 1;
        state->known = *text++ == ' ' && number_read(text, UINT64_MAX, &state->sum);
    }
    buf_free(&record);
    return result;
}

int crank_hash_activity(struct kernel *kernel, char activityhash[KERNEL_HASH_SIZE],
                        struct error *error)
{
    struct state_sum ignored;

    return read_end(kernel, activityhash, &ignored, error);
}

int crank_hash_open(struct kernel *kernel, struct error *error)
{
    char ignored[KERNEL_HASH_SIZE];
    bool lost;

    if (read_end(kernel, ignored, &kernel->state, error) != 0 ||
        keys_has(kernel, STORE_LOST, &lost, error) != 0)
        return -1;
    kernel->state.known = kernel->state.known && !lost;
    return 0;
}

int kernel_require_state(struct kernel *kernel, struct error *error)
{
    if (!kernel->state.known)
        return 0;
    return store_require_state(kernel->store, is_state, kernel->state.sum, error);
}

static int note_state(struct kernel *kernel, struct error *error)
{
    struct state_sum *state = &kernel->state;
    uint64_t little_endian;

    if (!state->known && (store_sum_state(kernel->store, is_state, &state->sum, error) != 0 ||
                          keys_delete(kernel, STORE_LOST, error) != 0))
        return -1;
    state->known = true;
    little_endian = htole64(state->sum);
    crank_hash_note(kernel, 'h', (const char *)&little_endian, sizeof little_endian);
    return 0;
}

/* ---- the crank hash ---- */

static int keep_end(struct kernel *kernel, const char *activityhash, struct error *error)
{
    char text[KERNEL_HASH_SIZE + 24];

    format_text(text, sizeof text, "%s %" PRIu64, activityhash, kernel->state.sum);
    return keys_set(kernel, activity_key, text, error);
}

/* Appends the hash of the changes to the activity hash, and hashes both. */
static int chain_changes(struct kernel *kernel, char crankhash[KERNEL_HASH_SIZE],
                         char activityhash[KERNEL_HASH_SIZE], struct error *error)
{
    char chain[2 * KERNEL_HASH_SIZE];
    int length;

    if (note_state(kernel, error) != 0 || hash_spool(&kernel->changes, crankhash, error) != 0 ||
        crank_hash_activity(kernel, activityhash, error) != 0)
        return -1;
    length = format_text(chain, sizeof chain, "%s%s", activityhash, crankhash);
    if (sha256_of_bytes(chain, (size_t)length, activityhash, error) != 0)
        return -1;
    spool_truncate(&kernel->changes, 0);
    return keep_end(kernel, activityhash, error);
}

int crank_hash_outside(struct kernel *kernel, int result, struct error *error)
{
    char crankhash[KERNEL_HASH_SIZE], activityhash[KERNEL_HASH_SIZE];

    if (result != 0 || kernel->crank.in_progress || spool_length(&kernel->changes) == 0)
        return result;
    return chain_changes(kernel, crankhash, activityhash, error);
}

int crank_hash_finish(struct kernel *kernel, struct kernel_crank_end *end, struct error *error)
{
    return chain_changes(kernel, end->crankhash, end->activityhash, error);
}

void transcript_item_begin(struct kernel *kernel)
{
    struct delivery_state *delivery = &kernel->crank.delivery;

    spool_append_string(&delivery->item, "{\"d\":");
    spool_append(&delivery->item, delivery->vd.data, delivery->vd.length);
    spool_append_string(&delivery->item, ",\"sc\":[");
}

void transcript_item_add_syscall(struct kernel *kernel, const char *vsc, const char *vsr)
{
    struct delivery_state *delivery = &kernel->crank.delivery;
    struct spool *item = &delivery->item;

    spool_append_string(item, delivery->has_syscall ? ",{\"s\":" : "{\"s\":");
    spool_append_string(item, vsc);
    spool_append_string(item, ",\"r\":");
    spool_append_string(item, vsr);
    spool_append_string(item, "}");
    delivery->has_syscall = true;
}

static void append_words(struct buf *item, const char *name, const char *words)
{
    json_t *text = capdata_words(words);
    struct error ignored;

    buf_printf(item, ",\"%s\":", name);
    if (text == NULL || keys_json_text(item, text, &ignored) != 0)
        item->failed = true;
    json_decref(text);
}

static void append_result(struct buf *item, const struct kernel_outcome *outcome)
{
    buf_printf(item, "{\"status\":\"%s\"", outcome->came == KERNEL_CAME_OK ? "ok" : "error");
    if (outcome->problem != NULL)
        append_words(item, "problem", outcome->problem);
    if (outcome->compute >= 0)
        buf_printf(item, ",\"metering\":{\"computrons\":%" PRId64 "}", outcome->compute);
    if (outcome->instructions >= 0)
        buf_printf(item, ",\"instructions\":%" PRId64, outcome->instructions);
    if (outcome->fingerprint != NULL)
        append_words(item, "fingerprint", outcome->fingerprint);
    buf_append_byte(item, '}');
}

static int add_item(struct kernel *kernel, struct error *error)
{
    struct delivery_state *delivery = &kernel->crank.delivery;
    struct iovec item;
    int result;

    if (spool_map(&delivery->item, &item, error) != 0)
        return -1;
    result = store_transcript_add(kernel->store, delivery->view.vat, delivery->view.incarnation,
                                  delivery->view.position, item, error);
    spool_unmap(&delivery->item, item);
    return result;
}

int transcript_item_keep(struct kernel *kernel, const struct kernel_outcome *outcome,
                         struct error *error)
{
    struct spool *item = &kernel->crank.delivery.item;
    struct buf end = {0};
    int result;

    buf_append_string(&end, "],\"r\":");
    append_result(&end, outcome);
    buf_append_byte(&end, '}');
    spool_append(item, end.data, end.length);
    result = buf_failed(&end) ? error_memory(error, "a transcript") : add_item(kernel, error);
    buf_free(&end);
    return result;
}
