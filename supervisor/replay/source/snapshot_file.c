/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/source/snapshot_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/io.h"
#include "slog/read/source.h"

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

int snapshot_file_copy(const char *path, struct scan_span hash, int fd, struct error *error)
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
static bool find_file(const char *folder, const char *name, char path[PATH_MAX])
{
    static const char *const endings[] = {".gz", ".zst", ""};

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        int length = snprintf(path, PATH_MAX, "%s/%s%s", folder, name, endings[i]);

        if (length > 0 && length < PATH_MAX && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

int snapshot_archive_copy(const char *folder, const struct source_event *event, int fd, bool *found,
                          struct error *error)
{
    const struct scan_span vat_id = event->vat_id, hash = event->hash;
    char path[PATH_MAX], name[128];

    snprintf(name, sizeof name, "snapshot.%.*s.%" PRId64,
             (int)(vat_id.length < 40 ? vat_id.length : 40), vat_id.at,
             event->delivery_num > 0 ? event->delivery_num - 1 : 0);
    *found = event->delivery_num > 0 && find_file(folder, name, path);
    if (!*found) {
        snprintf(name, sizeof name, "%.*s", (int)(hash.length < 64 ? hash.length : 64), hash.at);
        *found = find_file(folder, name, path);
    }
    return *found ? snapshot_file_copy(path, hash, fd, error) : 0;
}
