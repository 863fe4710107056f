/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/span/fleet_object.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "supervisor/replay/source/snapshot_file.h"

enum { SHA256_SIZE = 32 };

int object_writer_open(struct object_writer *writer, struct error *error)
{
    *writer = (struct object_writer){.packer = packer_new(error), .digest = EVP_MD_CTX_new()};
    if (writer->packer == NULL)
        return -1;
    if (writer->digest == NULL || EVP_DigestInit_ex(writer->digest, EVP_sha256(), NULL) != 1)
        return error_memory(error, "a hash");
    return 0;
}

int object_writer_add(struct object_writer *writer, const void *bytes, size_t length,
                      struct error *error)
{
    if (EVP_DigestUpdate(writer->digest, bytes, length) != 1)
        return error_memory(error, "a hash");
    return packer_add(writer->packer, bytes, length, PACKER_GOES_ON, &writer->packed, error);
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
    return found ? 0 : transport->operations->put_object(transport, hash, &writer->packed, error);
}

void object_writer_free(struct object_writer *writer)
{
    packer_free(writer->packer);
    EVP_MD_CTX_free(writer->digest);
    buf_free(&writer->packed);
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

int fleet_object_get(struct fleet_transport *transport, const char *hash, const char *what,
                     const char *path, struct error *error)
{
    struct buf packed = {0};
    int result = transport->operations->get_object(transport, hash, &packed, error);
    int fd;

    if (result != 0) {
        buf_free(&packed);
        return error_prefix(error, "%s", what);
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        result = error_system(error, errno, "cannot write %s", path);
    else
        result = snapshot_bytes_copy(what, packed.data, packed.length,
                                     (struct scan_span){hash, strlen(hash)}, fd, error);
    if (fd >= 0)
        close(fd);
    buf_free(&packed);
    return result;
}
