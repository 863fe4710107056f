/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/span/fleet_object.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/io.h"
#include "base/output/temporary_file.h"
#include "supervisor/replay/source/snapshot_file.h"

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

/* What is packed so far goes to the file. */
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
