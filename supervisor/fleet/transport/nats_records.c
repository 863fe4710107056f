/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/transport/nats_records.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/number.h"

enum { SHA256_SIZE = 32 };

/* ---- objects ---- */

static void name_whole(char subject[NATS_SUBJECT_SIZE], const char *hash)
{
    snprintf(subject, NATS_SUBJECT_SIZE, "gaspipe.object.%s.whole", hash);
}

static void name_piece(char subject[NATS_SUBJECT_SIZE], const char *hash, uint64_t piece)
{
    snprintf(subject, NATS_SUBJECT_SIZE, "gaspipe.object.%s.%" PRIu64, hash, piece);
}

int nats_object_has(struct nats_link *link, const char *hash, bool *found, struct error *error)
{
    char subject[NATS_SUBJECT_SIZE];

    name_whole(subject, hash);
    return nats_link_get(link, NATS_OBJECTS, subject, NULL, found, error);
}

int nats_object_put(struct nats_link *link, const char *hash, const struct buf *bytes,
                    struct error *error)
{
    const uint64_t count = (bytes->length + NATS_PIECE_SIZE - 1) / NATS_PIECE_SIZE;
    char subject[NATS_SUBJECT_SIZE], number[24];

    for (uint64_t i = 0; i < count; i++) {
        const size_t from = i * NATS_PIECE_SIZE, left = bytes->length - from;

        name_piece(subject, hash, i);
        /* Set, since somebody's attempt that was cut off may have been packed otherwise. */
        if (nats_link_set(link, NATS_OBJECTS, subject, bytes->data + from,
                          left < NATS_PIECE_SIZE ? left : NATS_PIECE_SIZE, error) != 0)
            return -1;
    }
    name_whole(subject, hash);
    snprintf(number, sizeof number, "%" PRIu64, count);
    return nats_link_set(link, NATS_OBJECTS, subject, number, strlen(number), error);
}

int nats_object_get(struct nats_link *link, const char *hash, struct buf *bytes, bool *found,
                    struct error *error)
{
    char subject[NATS_SUBJECT_SIZE];
    struct buf number = {0};
    uint64_t count = 0;
    int result;

    name_whole(subject, hash);
    result = nats_link_get(link, NATS_OBJECTS, subject, &number, found, error);
    if (result == 0 && *found &&
        (buf_string(&number) == NULL || !number_read(number.data, UINT32_MAX, &count)))
        *found = false;
    for (uint64_t i = 0; result == 0 && *found && i < count; i++) {
        name_piece(subject, hash, i);
        result = nats_link_get(link, NATS_OBJECTS, subject, bytes, found, error);
    }
    buf_free(&number);
    return result;
}

/* ---- records ---- */

static void name_record(char subject[NATS_SUBJECT_SIZE], const char *kind, const char *key)
{
    snprintf(subject, NATS_SUBJECT_SIZE, "gaspipe.record.%s.%s", kind, key);
}

/* "@HASH" of an object that it is now. */
static int put_aside(struct nats_link *link, const struct buf *text, char stand_in[80],
                     struct error *error)
{
    unsigned char digest[SHA256_SIZE];
    char hash[FLEET_HASH_SIZE];

    if (EVP_Digest(text->data, text->length, digest, NULL, EVP_sha256(), NULL) != 1)
        return error_memory(error, "a hash");
    hex_write(hash, digest, sizeof digest);
    snprintf(stand_in, 80, "@%s", hash);
    return nats_object_put(link, hash, text, error);
}

int nats_record_put(struct nats_link *link, const char *kind, const char *key,
                    const struct buf *text, bool *added, struct error *error)
{
    char subject[NATS_SUBJECT_SIZE], stand_in[80];

    if (buf_failed(text))
        return error_memory(error, "a record");
    name_record(subject, kind, key);
    if (text->length <= NATS_PIECE_SIZE)
        return nats_link_add(link, NATS_RECORDS, subject, text->data, text->length, added, error);
    if (put_aside(link, text, stand_in, error) != 0)
        return -1;
    return nats_link_add(link, NATS_RECORDS, subject, stand_in, strlen(stand_in), added, error);
}

int nats_record_get(struct nats_link *link, const char *kind, const char *key, struct buf *text,
                    bool *found, struct error *error)
{
    char subject[NATS_SUBJECT_SIZE], hash[FLEET_HASH_SIZE];
    const size_t before = text != NULL ? text->length : 0;

    name_record(subject, kind, key);
    if (nats_link_get(link, NATS_RECORDS, subject, text, found, error) != 0)
        return -1;
    if (!*found || text == NULL || text->length - before != FLEET_HASH_SIZE ||
        text->data[before] != '@')
        return 0;
    snprintf(hash, sizeof hash, "%.*s", FLEET_HASH_SIZE - 1, text->data + before + 1);
    text->length = before;
    return nats_object_get(link, hash, text, found, error);
}
