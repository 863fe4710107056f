/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/source/source.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/number.h"
#include "slog/model/describe.h"
#include "slog/read/source.h"

/* The snapshot's hash: ["load-snapshot",{"snapshotID"}], or in the result of a saving. */
static struct scan_span snapshot_of(struct scan_span delivery, struct scan_span result)
{
    struct scan_span kind, description = {0};
    struct scan_cursor cursor;

    if (scan_open(delivery, '[', &cursor) && scan_element(&cursor, &kind) == SCAN_FOUND)
        (void)scan_element(&cursor, &description);
    description = scan_string(scan_get(description, "snapshotID"));
    return description.at != NULL ? description : scan_string(scan_get(result, "snapshotID"));
}

/* ["initialize-worker",{"source":{"bundleID"},"workerOptions":{"bundleIDs":[...]}}] */
static void take_startup_event(struct source_event *event, struct scan_span delivery)
{
    struct scan_span kind, description;
    struct scan_cursor cursor;

    event->kind = SOURCE_START;
    if (!scan_open(delivery, '[', &cursor) || scan_element(&cursor, &kind) != SCAN_FOUND ||
        scan_element(&cursor, &description) != SCAN_FOUND)
        return;
    event->bundle_id = scan_string(scan_get(scan_get(description, "source"), "bundleID"));
    event->runtime_ids = scan_get(scan_get(description, "workerOptions"), "bundleIDs");
}

void source_event_of_entry(struct source_event *event, const struct recorded_delivery *recorded)
{
    const struct scan_span entry = {recorded->text.data, recorded->text.length};
    const struct scan_span kind = describe_kind(recorded->delivery);

    if (scan_is(kind, "initialize-worker") || scan_is(kind, "shutdown-worker")) {
        take_startup_event(event, recorded->delivery);
    } else if (scan_is(kind, "save-snapshot")) {
        event->kind = SOURCE_SNAPSHOT_SAVED;
        event->hash = snapshot_of(recorded->delivery, scan_get(entry, "r"));
    } else if (scan_is(kind, "load-snapshot")) {
        event->kind = SOURCE_SNAPSHOT_LOADED;
        event->hash = snapshot_of(recorded->delivery, scan_get(entry, "r"));
    } else {
        event->kind = SOURCE_DELIVERY;
        event->delivery = recorded;
    }
}

bool source_event_is_wanted(const struct source_event *event,
                            const struct source_selection *selection)
{
    for (size_t i = 0; i < selection->vat_count; i++)
        if (scan_is(event->vat_id, selection->vats[i]) ||
            (event->kind == SOURCE_CREATE && scan_is(event->name, selection->vats[i])))
            return true;
    return selection->vat_count == 0;
}

/* ---- bundles as swing-store keeps them ---- */

enum { BUNDLE_SIZE_MAX = 256 << 20 };

int stored_bundle_put(struct scan_span id, const struct buf *kept, struct buf *bundle,
                      struct error *error)
{
    if (id.length < 3 || memcmp(id.at, "b1-", 3) != 0) {
        buf_append(bundle, kept->data, kept->length);
    } else {
        buf_printf(bundle,
                   "{\"moduleFormat\":\"endoZipBase64\",\"endoZipBase64Sha512\":\"%.*s\","
                   "\"endoZipBase64\":\"",
                   (int)(id.length - 3), id.at + 3);
        if (kept->length < INT_MAX / 2 && buf_reserve(bundle, kept->length / 3 * 4 + 8) == 0)
            bundle->length +=
                (size_t)EVP_EncodeBlock((unsigned char *)bundle->data + bundle->length,
                                        (const unsigned char *)kept->data, (int)kept->length);
        buf_append_string(bundle, "\"}");
    }
    return buf_failed(bundle) ? error_memory(error, "a bundle") : 0;
}

/* b1-HASH: no path to another directory. */
static bool is_bundle_id(struct scan_span id)
{
    for (size_t i = 0; i < id.length; i++)
        if (strchr("0123456789abcdef-", id.at[i]) == NULL || id.at[i] == '\0')
            return false;
    return id.length > 3;
}

int stored_bundle_read(const char *path, struct scan_span id, struct buf *bundle, bool *found,
                       struct error *error)
{
    const char *slash = strrchr(path, '/');
    struct buf name = {0}, kept = {0};
    int result = 0;

    *found = false;
    if (!is_bundle_id(id))
        return 0;
    buf_append(&name, path, slash != NULL ? (size_t)(slash + 1 - path) : 0);
    buf_printf(&name, "bundle.%.*s", (int)id.length, id.at);
    if (buf_string(&name) == NULL)
        result = error_memory(error, "a path");
    else
        *found = access(name.data, R_OK) == 0;
    if (result == 0 && *found)
        result = io_read_file(name.data, BUNDLE_SIZE_MAX, &kept, error);
    if (result == 0 && *found)
        result = stored_bundle_put(id, &kept, bundle, error);
    buf_free(&kept);
    buf_free(&name);
    return result;
}

/* ---- snapshots ---- */

enum { SHA256_SIZE = 32, PIECE_SIZE = 64 * 1024 };

/* Copies and hashes; the digest goes to `hex`. */
static int copy(struct source *source, int fd, EVP_MD_CTX *digest, char hex[HEX_SIZE(SHA256_SIZE)],
                struct error *error)
{
    unsigned char hash[SHA256_SIZE];
    char piece[PIECE_SIZE];
    ssize_t length;

    while ((length = source_read(source, piece, sizeof piece, error)) > 0) {
        if (EVP_DigestUpdate(digest, piece, (size_t)length) != 1)
            return error_memory(error, "a hash");
        if (io_write_all(fd, piece, (size_t)length) != 0)
            return error_system(error, errno, "cannot keep a snapshot");
    }
    if (length < 0)
        return -1;
    if (EVP_DigestFinal_ex(digest, hash, NULL) != 1)
        return error_memory(error, "a hash");
    hex_write(hex, hash, sizeof hash);
    return 0;
}

static int copy_as(const char *path, const char *name, struct scan_span hash, int fd,
                   struct error *error)
{
    struct source *source = source_open(path, error);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    char hex[HEX_SIZE(SHA256_SIZE)];
    int result = -1;

    if (digest == NULL || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1)
        error_memory(error, "a hash");
    else if (source != NULL)
        result = copy(source, fd, digest, hex, error);
    if (result == 0 && !scan_is(hash, hex))
        result = error_set(error, ERROR_INPUT, "%s: the SHA-256 of what it holds is %s, not %.*s",
                           name, hex, (int)(hash.length < 64 ? hash.length : 64), hash.at);
    if (source != NULL)
        source_close(source);
    EVP_MD_CTX_free(digest);
    return result;
}

/* Copies a snapshot from a file that may be compressed (gzip or Zstandard) to `fd`, from its
 * position. -1 with ERROR_INPUT if its bytes do not have that SHA-256, in hexadecimal digits, or
 * ERROR_SYSTEM. */
static int snapshot_file_copy(const char *path, struct scan_span hash, int fd, struct error *error)
{
    return copy_as(path, path, hash, fd, error);
}

int snapshot_descriptor_copy(const char *name, int packed, struct scan_span hash, int fd,
                             struct error *error)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", packed);
    return copy_as(path, name, hash, fd, error);
}

int snapshot_bytes_copy(const char *name, const void *bytes, size_t length, struct scan_span hash,
                        int fd, struct error *error)
{
    int packed = memfd_create("gaspipe-packed", MFD_CLOEXEC);
    int result;

    if (packed < 0)
        return error_system(error, errno, "cannot make a file for a snapshot");
    if (io_write_all(packed, bytes, length) != 0)
        result = error_system(error, errno, "cannot keep a snapshot");
    else
        result = snapshot_descriptor_copy(name, packed, hash, fd, error);
    close(packed);
    return result;
}

/* ---- archives ---- */

/* The file of that name with any of the endings. */
static bool find_snapshot_file(const char *directory, const char *name, char path[PATH_MAX])
{
    static const char *const endings[] = {".gz", ".zst", ""};

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        int length = snprintf(path, PATH_MAX, "%s/%s%s", directory, name, endings[i]);

        if (length > 0 && length < PATH_MAX && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

int snapshot_archive_copy(const char *directory, const struct source_event *event, int fd,
                          bool *found, struct error *error)
{
    const struct scan_span vat_id = event->vat_id, hash = event->hash;
    char path[PATH_MAX], name[128];

    snprintf(name, sizeof name, "snapshot.%.*s.%" PRId64,
             (int)(vat_id.length < 40 ? vat_id.length : 40), vat_id.at,
             event->delivery_num > 0 ? event->delivery_num - 1 : 0);
    *found = event->delivery_num > 0 && find_snapshot_file(directory, name, path);
    if (!*found) {
        snprintf(name, sizeof name, "%.*s", (int)(hash.length < 64 ? hash.length : 64), hash.at);
        *found = find_snapshot_file(directory, name, path);
    }
    return *found ? snapshot_file_copy(path, hash, fd, error) : 0;
}
