/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/nats_records.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/number.h"
#include "base/output/spool.h"

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

static int nats_records_put_piece(struct nats_link *link, const char *hash, uint64_t piece,
                                  const void *bytes, size_t length, struct error *error)
{
    char subject[NATS_SUBJECT_SIZE];

    name_piece(subject, hash, piece);
    /* Overwrites pieces of an attempt that was cut off and may have been packed differently. */
    return nats_link_set(link, NATS_OBJECTS, subject, bytes, length, error);
}

/* How many there are. */
static int put_record_pieces(struct nats_link *link, const char *hash, int file, uint64_t *count,
                             struct error *error)
{
    char *piece = malloc(NATS_PIECE_SIZE);
    int result = piece != NULL ? 0 : error_memory(error, "a piece of an object");
    ssize_t length = 1;

    for (*count = 0; result == 0 && length > 0; *count += length > 0) {
        length = io_read_at(file, piece, NATS_PIECE_SIZE, (off_t)(*count * NATS_PIECE_SIZE));
        if (length < 0)
            result = error_system(error, errno, "cannot read an object");
        else if (length > 0)
            result = nats_records_put_piece(link, hash, *count, piece, (size_t)length, error);
    }
    free(piece);
    return result;
}

int nats_object_put(struct nats_link *link, const char *hash, int file, struct error *error)
{
    char subject[NATS_SUBJECT_SIZE], number[24];
    uint64_t count;

    if (put_record_pieces(link, hash, file, &count, error) != 0)
        return -1;
    name_whole(subject, hash);
    snprintf(number, sizeof number, "%" PRIu64, count);
    return nats_link_set(link, NATS_OBJECTS, subject, number, strlen(number), error);
}

static int get_piece(struct nats_link *link, const char *hash, uint64_t number, int file,
                     bool *found, struct error *error)
{
    char subject[NATS_SUBJECT_SIZE];
    struct buf piece = {0};
    int result;

    name_piece(subject, hash, number);
    result = nats_link_get(link, NATS_OBJECTS, subject, &piece, found, error);
    if (result == 0 && io_write_all(file, piece.data, piece.length) != 0)
        result = error_system(error, errno, "cannot keep an object");
    buf_free(&piece);
    return result;
}

int nats_object_get(struct nats_link *link, const char *hash, int file, bool *found,
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
    for (uint64_t i = 0; result == 0 && *found && i < count; i++)
        result = get_piece(link, hash, i, file, found, error);
    buf_free(&number);
    return result;
}

/* ---- records ---- */

static void name_record(char subject[NATS_SUBJECT_SIZE], const char *kind, const char *key)
{
    snprintf(subject, NATS_SUBJECT_SIZE, "gaspipe.record.%s.%s", kind, key);
}

/* Stores the text as an object; the record is "@HASH" then. */
static int store_long_record(struct nats_link *link, const struct buf *text, char stand_in[80],
                             struct error *error)
{
    unsigned char digest[SHA256_SIZE];
    char hash[FLEET_HASH_SIZE];
    int file, result;

    if (EVP_Digest(text->data, text->length, digest, NULL, EVP_sha256(), NULL) != 1)
        return error_memory(error, "a hash");
    hex_write(hash, digest, sizeof digest);
    snprintf(stand_in, 80, "@%s", hash);
    file = temporary_file_open(error);
    if (file < 0)
        return -1;
    if (io_write_all(file, text->data, text->length) != 0)
        result = error_system(error, errno, "cannot keep a record");
    else
        result = nats_object_put(link, hash, file, error);
    close(file);
    return result;
}

/* The content of the object that stands for a record. */
static int read_long_record(struct nats_link *link, const char *hash, struct buf *text, bool *found,
                            struct error *error)
{
    const int file = temporary_file_open(error);
    char path[32];
    int result;

    if (file < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    result = nats_object_get(link, hash, file, found, error);
    if (result == 0 && *found)
        result = io_read_file(path, SIZE_MAX, text, error);
    close(file);
    return result;
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
    if (store_long_record(link, text, stand_in, error) != 0)
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
    return read_long_record(link, hash, text, found, error);
}
