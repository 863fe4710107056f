/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet_object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/number.h"
#include "base/output/spool.h"
#include "supervisor/replay/source/source.h"

enum { SHA256_SIZE = 32, MEMORY_MAX = 4 << 20, PIECE_SIZE = 64 * 1024 };

int object_writer_open(struct object_writer *writer, struct error *error)
{
    *writer = (struct object_writer){.packer = packer_new(error), .digest = EVP_MD_CTX_new()};
    if (writer->packer == NULL)
        return -1;
    if (writer->digest == NULL || EVP_DigestInit_ex(writer->digest, EVP_sha256(), NULL) != 1)
        return error_memory(error, "a hash");
    return 0;
}

/* Moves the packed bytes to the file. */
static int object_writer_flush(struct object_writer *writer, struct error *error)
{
    if (writer->file == 0) {
        const int file = temporary_file_open(error);

        if (file < 0)
            return -1;
        writer->file = file;
    }
    if (io_write_all(writer->file, writer->packed.data, writer->packed.length) != 0)
        return error_system(error, errno, "cannot keep an object in %s", temporary_file_place());
    buf_clear(&writer->packed);
    return 0;
}

int object_writer_add(struct object_writer *writer, const void *bytes, size_t length,
                      struct error *error)
{
    if (EVP_DigestUpdate(writer->digest, bytes, length) != 1)
        return error_memory(error, "a hash");
    if (packer_add(writer->packer, bytes, length, PACKER_GOES_ON, &writer->packed, error) != 0)
        return -1;
    return writer->packed.length > MEMORY_MAX ? object_writer_flush(writer, error) : 0;
}

int object_writer_put(struct object_writer *writer, struct fleet_transport *transport,
                      char hash[FLEET_HASH_SIZE], struct error *error)
{
    unsigned char digest[SHA256_SIZE];
    bool found;

    if (EVP_DigestFinal_ex(writer->digest, digest, NULL) != 1)
        return error_memory(error, "a hash");
    hex_write(hash, digest, sizeof digest);
    if (packer_add(writer->packer, "", 0, PACKER_FINISH, &writer->packed, error) != 0 ||
        transport->operations->has_object(transport, hash, &found, error) != 0)
        return -1;
    if (found)
        return 0;
    if (object_writer_flush(writer, error) != 0)
        return -1;
    return transport->operations->put_object(transport, hash, writer->file, error);
}

void object_writer_free(struct object_writer *writer)
{
    packer_free(writer->packer);
    EVP_MD_CTX_free(writer->digest);
    buf_free(&writer->packed);
    if (writer->file > 0)
        close(writer->file);
    *writer = (struct object_writer){0};
}

int fleet_object_put(struct fleet_transport *transport, const void *bytes, size_t length,
                     char hash[FLEET_HASH_SIZE], struct error *error)
{
    struct object_writer writer;
    int result = object_writer_open(&writer, error);

    if (result == 0)
        result = object_writer_add(&writer, bytes, length, error);
    if (result == 0)
        result = object_writer_put(&writer, transport, hash, error);
    object_writer_free(&writer);
    return result;
}

static int object_writer_add_file(struct object_writer *writer, int fd, const char *path,
                                  int64_t *size, struct error *error)
{
    char piece[PIECE_SIZE];
    ssize_t got;

    for (*size = 0; (got = io_read_at(fd, piece, sizeof piece, *size)) > 0; *size += got)
        if (object_writer_add(writer, piece, (size_t)got, error) != 0)
            return -1;
    return got == 0 ? 0 : io_unreadable(path, error);
}

int fleet_object_put_file(struct fleet_transport *transport, const char *path,
                          char hash[FLEET_HASH_SIZE], int64_t *size, struct error *error)
{
    struct object_writer writer = {0};
    int fd, result;

    if (io_open_file(AT_FDCWD, path, 0, UINT64_MAX, &fd, error) != 0)
        return -1;
    if (fd < 0)
        return io_unreadable(path, error);
    result = object_writer_open(&writer, error);
    if (result == 0)
        result = object_writer_add_file(&writer, fd, path, size, error);
    if (result == 0)
        result = object_writer_put(&writer, transport, hash, error);
    object_writer_free(&writer);
    close(fd);
    return result;
}

int fleet_object_get(struct fleet_transport *transport, const char *hash, const char *what,
                     const char *path, struct error *error)
{
    int packed, fd, result;

    if (transport->operations->get_object(transport, hash, &packed, error) != 0)
        return error_prefix(error, "%s", what);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        result = error_system(error, errno, "cannot write %s", path);
    } else {
        result = snapshot_descriptor_copy(what, packed, (struct scan_span){hash, strlen(hash)}, fd,
                                          error);
        close(fd);
    }
    close(packed);
    return result;
}

/* ---- a worker's own objects ---- */

static int span_objects_path(struct fleet_transport *transport, const char *hash,
                             char path[PATH_MAX], struct error *error)
{
    const struct span_objects *objects = (const struct span_objects *)transport;

    if (snprintf(path, PATH_MAX, "%s/object-%s", objects->directory, hash) >= PATH_MAX)
        return error_set(error, ERROR_SYSTEM, "%s: the path is too long", objects->directory);
    return 0;
}

static bool keeps_nothing(const struct fleet_transport *transport)
{
    return ((const struct span_objects *)transport)->directory == NULL;
}

static int has_span_object(struct fleet_transport *transport, const char *hash, bool *found,
                           struct error *error)
{
    char path[PATH_MAX];

    *found = false;
    if (keeps_nothing(transport))
        return 0;
    if (span_objects_path(transport, hash, path, error) != 0)
        return -1;
    *found = access(path, F_OK) == 0;
    return *found || errno == ENOENT ? 0 : error_system(error, errno, "cannot look for %s", path);
}

static int put_span_object(struct fleet_transport *transport, const char *hash, int packed,
                           struct error *error)
{
    char path[PATH_MAX];
    int fd, result = 0;

    if (keeps_nothing(transport))
        return 0;
    if (span_objects_path(transport, hash, path, error) != 0)
        return -1;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || io_copy_all(packed, fd) != 0)
        result = error_system(error, errno, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return result;
}

static int get_span_object(struct fleet_transport *transport, const char *hash, int *packed,
                           struct error *error)
{
    char path[PATH_MAX];

    if (span_objects_path(transport, hash, path, error) != 0)
        return -1;
    if (io_open_file(AT_FDCWD, path, O_NOFOLLOW, UINT64_MAX, packed, error) != 0)
        return -1;
    return *packed >= 0 ? 0 : error_set(error, ERROR_INPUT, "%s is no longer in its source", hash);
}

struct fleet_transport *span_objects_init(struct span_objects *objects, const char *directory)
{
    static const struct fleet_operations operations = {
        .has_object = has_span_object,
        .put_object = put_span_object,
        .get_object = get_span_object,
    };

    *objects =
        (struct span_objects){.transport = {.operations = &operations}, .directory = directory};
    return &objects->transport;
}

/* ---- files in a shared directory ---- */

json_t *shared_path_below(const char *directory, const char *path, struct error *error)
{
    char real_directory[PATH_MAX], real[PATH_MAX];
    size_t length;
    json_t *below;

    if (realpath(directory, real_directory) == NULL) {
        error_set(error, ERROR_INPUT, "--shared %s: %s", directory, strerror(errno));
        return NULL;
    }
    if (realpath(path, real) == NULL) {
        error_set(error, ERROR_INPUT, "%s: %s", path, strerror(errno));
        return NULL;
    }
    length = strlen(real_directory);
    if (strncmp(real, real_directory, length) != 0 || real[length] != '/') {
        error_set(error, ERROR_INPUT, "%s is not in the directory --shared %s", path, directory);
        return NULL;
    }
    below = json_string(real + length + 1);
    if (below == NULL)
        error_set(error, ERROR_INPUT, "%s: the path must be UTF-8 for --shared", path);
    return below;
}

bool shared_path_is(const json_t *value)
{
    const char *text = json_string_value(value);

    if (text == NULL || text[0] == '\0' || text[0] == '/')
        return false;
    for (const char *part = text; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
    }
    return true;
}

int shared_path_find(const char *directory, const char *below, char path[PATH_MAX],
                     struct error *error)
{
    char real[PATH_MAX];

    if (directory == NULL)
        return error_set(error, ERROR_SYSTEM,
                         "%s is in a shared directory: give it with --shared DIR", below);
    if (realpath(directory, real) == NULL)
        return error_system(error, errno, "--shared %s", directory);
    if (snprintf(path, PATH_MAX, "%s/%s", real, below) >= PATH_MAX)
        return error_set(error, ERROR_INPUT, "%s: the path is too long", below);
    return 0;
}
