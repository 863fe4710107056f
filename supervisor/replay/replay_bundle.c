/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_bundle.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/json/json_value.h"
#include "base/number.h"
#include "supervisor/runtime/contract_file.h"

/* ---- whether a bundle is whole ---- */

enum { SHA512_SIZE = 64, SHA512_HEX_SIZE = 2 * SHA512_SIZE + 1, SHOWN_MAX = 128 };

/* The archive inside a bundle is a zip file with stored members (PKWARE's APPNOTE.TXT 6.3.10, 4.3):
 * members' data follow their local headers, and a directory is at the end. */
enum {
    END_SIGNATURE = 0x06054b50,
    END_SIZE = 22,
    END_ENTRIES = 10, /* offsets in the record */
    END_DIRECTORY = 16,
    ENTRY_SIGNATURE = 0x02014b50,
    ENTRY_SIZE = 46,
    ENTRY_METHOD = 10,
    ENTRY_LENGTH = 24,
    ENTRY_NAME = 28,
    ENTRY_EXTRA = 30,
    ENTRY_COMMENT = 32,
    ENTRY_LOCAL = 42,
    LOCAL_SIZE = 30,
    LOCAL_NAME = 26,
    LOCAL_EXTRA = 28,
};

struct archive {
    unsigned char *bytes; /* owned */
    size_t length;
};

struct zip_member {
    const unsigned char *bytes;
    size_t length;
};

static uint32_t zip_number_at(const unsigned char *at, int size)
{
    uint32_t number = 0;

    for (int i = size; i > 0; i--)
        number = number << 8 | at[i - 1];
    return number;
}

/* ---- members ---- */

/* Sets the data of the member whose directory entry is at `entry`. */
static bool member_at(const struct archive *archive, const unsigned char *entry,
                      struct zip_member *member)
{
    size_t local = zip_number_at(entry + ENTRY_LOCAL, 4), start;

    member->length = zip_number_at(entry + ENTRY_LENGTH, 4);
    if (zip_number_at(entry + ENTRY_METHOD, 2) != 0 || local + LOCAL_SIZE > archive->length)
        return false;
    start = local + LOCAL_SIZE + zip_number_at(archive->bytes + local + LOCAL_NAME, 2) +
            zip_number_at(archive->bytes + local + LOCAL_EXTRA, 2);
    member->bytes = archive->bytes + start;
    return start <= archive->length && member->length <= archive->length - start;
}

static bool find_zip_member(const struct archive *archive, const char *name,
                            struct zip_member *member)
{
    const unsigned char *end = archive->bytes + archive->length - END_SIZE;
    size_t place, left;

    if (archive->length < END_SIZE || zip_number_at(end, 4) != END_SIGNATURE)
        return false;
    left = zip_number_at(end + END_ENTRIES, 2);
    place = zip_number_at(end + END_DIRECTORY, 4);
    for (; left > 0 && place + ENTRY_SIZE <= archive->length; left--) {
        const unsigned char *entry = archive->bytes + place;
        size_t length = zip_number_at(entry + ENTRY_NAME, 2);

        if (zip_number_at(entry, 4) != ENTRY_SIGNATURE ||
            length > archive->length - place - ENTRY_SIZE)
            return false;
        if (length == strlen(name) && memcmp(entry + ENTRY_SIZE, name, length) == 0)
            return member_at(archive, entry, member);
        place += ENTRY_SIZE + length + zip_number_at(entry + ENTRY_EXTRA, 2) +
                 zip_number_at(entry + ENTRY_COMMENT, 2);
    }
    return false;
}

/* Returns true if the member has this SHA-512, in hexadecimal digits. */
static bool has_hash(const struct zip_member *member, const char *expected, size_t length)
{
    unsigned char hash[SHA512_SIZE];
    char hex[SHA512_HEX_SIZE];

    if (EVP_Digest(member->bytes, member->length, hash, NULL, EVP_sha512(), NULL) != 1)
        return false;
    hex_write(hex, hash, sizeof hash);
    return length == sizeof hex - 1 && memcmp(hex, expected, length) == 0;
}

/* ---- the compartment map ---- */

static bool check_module(const struct archive *archive, const char *compartment,
                         const json_t *module, char *why, size_t size)
{
    const char *location = json_string_value(json_object_get(module, "location"));
    const char *hash = json_string_value(json_object_get(module, "sha512"));
    struct zip_member member;
    char path[1024];
    int length;

    if (location == NULL || hash == NULL)
        return true; /* it is another compartment's, or has no hash */
    length = snprintf(path, sizeof path, "%s/%s", compartment, location);
    if (length > 0 && (size_t)length < sizeof path && find_zip_member(archive, path, &member) &&
        has_hash(&member, hash, strlen(hash)))
        return true;
    snprintf(why, size, "the bundle is damaged: the bytes of %.*s do not match their SHA-512",
             SHOWN_MAX, path);
    return false;
}

static bool check_modules(const struct archive *archive, const struct zip_member *map, char *why,
                          size_t size)
{
    json_t *json = json_value_read((const char *)map->bytes, map->length, JSON_ALLOW_NUL, NULL);
    const char *name, *specifier;
    json_t *compartment, *module;
    bool whole = true;

    json_object_foreach(json_object_get(json, "compartments"), name, compartment)
    {
        const char *location = json_string_value(json_object_get(compartment, "location"));

        json_object_foreach(json_object_get(compartment, "modules"), specifier, module)
        {
            whole = whole &&
                    check_module(archive, location != NULL ? location : name, module, why, size);
        }
    }
    json_decref(json);
    return whole;
}

static bool check_archive(const struct archive *archive, struct scan_span hash, char *why,
                          size_t size)
{
    struct zip_member map;

    if (!find_zip_member(archive, "compartment-map.json", &map)) {
        snprintf(why, size, "the bundle is damaged: no compartment-map.json");
        return false;
    }
    if (hash.at != NULL && !has_hash(&map, hash.at, hash.length)) {
        snprintf(why, size, "the bundle is damaged: its bytes do not match their SHA-512, %.*s...",
                 (int)(hash.length < 16 ? hash.length : 16), hash.at);
        return false;
    }
    return check_modules(archive, &map, why, size);
}

static bool decode(struct scan_span base64, struct archive *archive)
{
    const size_t length = base64.length;
    size_t blanks = 0;
    int decoded;

    archive->bytes = length > 0 && length < INT32_MAX ? malloc(length / 4 * 3 + 3) : NULL;
    if (archive->bytes == NULL || length % 4 != 0)
        return false;
    decoded = EVP_DecodeBlock(archive->bytes, (const unsigned char *)base64.at, (int)length);
    while (blanks < 2 && base64.at[length - 1 - blanks] == '=')
        blanks++;
    archive->length = decoded > 0 ? (size_t)decoded - blanks : 0;
    return decoded > 0;
}

bool bundle_check(struct scan_span bundle, char *why, size_t size)
{
    struct scan_span format = scan_string(scan_get(bundle, "moduleFormat"));
    struct archive archive = {0};
    bool whole;

    if (format.at == NULL) {
        snprintf(why, size, "the source does not hold its bundle: what stands there is %s",
                 bundle.length > 0 && bundle.at[0] == '{' ? "an object without moduleFormat"
                                                          : "no bundle");
        return false;
    }
    if (!scan_is(format, "endoZipBase64"))
        return true;
    whole = decode(scan_string(scan_get(bundle, "endoZipBase64")), &archive);
    if (whole)
        whole = check_archive(&archive, scan_string(scan_get(bundle, "endoZipBase64Sha512")), why,
                              size);
    else
        snprintf(why, size, "the bundle is incomplete: endoZipBase64 is not base64 text");
    free(archive.bytes);
    return whole;
}

/* ---- a vat's bundle, through upgrades ---- */

int replay_bundle_set(struct replay_bundle *bundle, struct scan_span json, struct error *error)
{
    buf_clear(&bundle->upgrade); /* it is this one */
    buf_clear(&bundle->json);
    buf_append(&bundle->json, json.at, json.length);
    /* The zeros terminate it, too. */
    if (buf_reserve(&bundle->json, SCAN_PADDING) != 0 || buf_failed(&bundle->json))
        return error_memory(error, "a bundle");
    memset(bundle->json.data + json.length, 0, SCAN_PADDING);
    return 0;
}

int replay_bundle_note_upgrade(struct replay_bundle *bundle, struct scan_span id,
                               struct error *error)
{
    buf_clear(&bundle->upgrade);
    return buf_append(&bundle->upgrade, id.at, id.length) == 0 ? 0
                                                               : error_memory(error, "a bundle");
}

int replay_bundle_upgrade(struct replay_bundle *bundle, struct scan_span json, struct error *error)
{
    buf_free(&bundle->before);
    bundle->before = bundle->json;
    bundle->json = (struct buf){0};
    return replay_bundle_set(bundle, json, error);
}

bool replay_bundle_is_outdated(const struct replay_bundle *bundle)
{
    struct scan_span json = {bundle->json.data, bundle->json.length};
    struct scan_span hash = scan_string(scan_get(json, "endoZipBase64Sha512"));
    const struct buf *id = &bundle->upgrade;
    const size_t prefix = sizeof "b1-" - 1;

    if (id->length == 0)
        return false;
    return hash.at == NULL || id->length != prefix + hash.length ||
           memcmp(id->data, "b1-", prefix) != 0 ||
           memcmp(id->data + prefix, hash.at, hash.length) != 0;
}

void replay_bundle_settle(struct replay_bundle *bundle, bool well)
{
    if (!well && bundle->before.length > 0) {
        buf_free(&bundle->json);
        bundle->json = bundle->before;
        bundle->before = (struct buf){0};
    }
    buf_free(&bundle->before);
}

void replay_bundle_free(struct replay_bundle *bundle)
{
    buf_free(&bundle->json);
    buf_free(&bundle->upgrade);
    buf_free(&bundle->before);
}

/* ---- bundles that the user gives ---- */

struct bundle_file {
    struct contract_file contract;
    char *vat; /* that it was given for; owned; NULL: for any */
};

static int add_bundle_file(struct replay_bundles *bundles, const char *path, const char *vat,
                           size_t vat_length, struct error *error)
{
    struct bundle_file *files =
        array_reserve(bundles->files, &bundles->capacity, bundles->count + 1, sizeof *files);
    struct bundle_file *file;

    if (files == NULL)
        return error_memory(error, "bundles");
    bundles->files = files;
    file = &files[bundles->count++];
    *file = (struct bundle_file){0};
    if (vat != NULL && (file->vat = strndup(vat, vat_length)) == NULL)
        return error_memory(error, "bundles");
    return contract_file_read(&file->contract, path, error);
}

/* Ignores files that are not bundles. */
static int add_if_bundle(struct replay_bundles *bundles, const char *path, struct error *error)
{
    struct bundle_file *file;
    struct stat status;
    int result;

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    result = add_bundle_file(bundles, path, NULL, 0, error);
    if (result != 0 && error->kind != ERROR_INPUT)
        return -1;
    file = &bundles->files[bundles->count - 1];
    if (result == 0 && !file->contract.is_plain)
        return 0;
    buf_free(&file->contract.bundle);
    bundles->count--;
    return 0;
}

static int add_directory(struct replay_bundles *bundles, const char *name, struct error *error)
{
    DIR *directory = opendir(name);
    const struct dirent *entry;
    int result = 0;

    if (directory == NULL)
        return error_set(error, ERROR_INPUT, "%s: %s", name, strerror(errno));
    /* cppcheck-suppress readdirCalled ; no other thread reads this directory */
    while (result == 0 && (entry = readdir(directory)) != NULL) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s", name, entry->d_name);

        if (length > 0 && (size_t)length < sizeof path)
            result = add_if_bundle(bundles, path, error);
    }
    (void)closedir(directory); /* was only read */
    return result;
}

/* FILE, VAT=FILE or DIR. */
static int replay_bundles_add(struct replay_bundles *bundles, const char *value,
                              struct error *error)
{
    const char *sign = strchr(value, '=');
    struct stat status;

    if (stat(value, &status) == 0 && S_ISDIR(status.st_mode))
        return add_directory(bundles, value, error);
    if (sign != NULL && stat(value, &status) != 0)
        return add_bundle_file(bundles, sign + 1, value, (size_t)(sign - value), error);
    return add_bundle_file(bundles, value, NULL, 0, error);
}

int replay_bundles_read(struct replay_bundles *bundles, char *const *values, size_t count,
                        struct error *error)
{
    for (size_t i = 0; i < count; i++)
        if (replay_bundles_add(bundles, values[i], error) != 0)
            return -1;
    return 0;
}

const struct buf *replay_bundles_find(const struct replay_bundles *bundles, struct scan_span id)
{
    for (size_t i = 0; i < bundles->count; i++)
        if (scan_is(id, bundles->files[i].contract.id))
            return &bundles->files[i].contract.bundle;
    return NULL;
}

const struct buf *replay_bundles_find_vat(const struct replay_bundles *bundles, const char *id,
                                          const char *name)
{
    for (size_t i = 0; i < bundles->count; i++) {
        const char *vat = bundles->files[i].vat;

        if (vat != NULL && (strcmp(vat, id) == 0 || strcmp(vat, name) == 0))
            return &bundles->files[i].contract.bundle;
    }
    return NULL;
}

void replay_bundles_free(struct replay_bundles *bundles)
{
    for (size_t i = 0; i < bundles->count; i++) {
        buf_free(&bundles->files[i].contract.bundle);
        free(bundles->files[i].vat);
    }
    free(bundles->files);
    *bundles = (struct replay_bundles){0};
}
