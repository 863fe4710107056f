/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/snapshot_writer.h"

#include <errno.h>
#include <string.h>

#include "base/io.h"

/* stdio would take as long per piece as all other work. The reader runs at the same time, and
 * larger blocks wake it less often. */
enum { BLOCK_SIZE = 256 << 10 };

/* Static, because XS measures the stack's depth. */
static unsigned char block[BLOCK_SIZE];

void snapshot_writer_begin(struct snapshot_writer *writer, int fd)
{
    *writer = (struct snapshot_writer){.fd = fd};
}

/* 0 or an errno. */
static int write_snapshot_block(struct snapshot_writer *writer)
{
    const size_t size = writer->filled;

    writer->filled = 0;
    return io_write_all(writer->fd, block, size) == 0 ? 0 : errno;
}

int snapshot_writer_write(void *context, void *bytes, size_t size)
{
    struct snapshot_writer *const writer = context;
    const unsigned char *from = bytes;
    int problem;

    writer->size += size;
    while (size > BLOCK_SIZE - writer->filled) {
        const size_t part = BLOCK_SIZE - writer->filled;

        memcpy(block + writer->filled, from, part);
        writer->filled = BLOCK_SIZE;
        from += part;
        size -= part;
        problem = write_snapshot_block(writer);
        if (problem != 0)
            return problem;
    }
    memcpy(block + writer->filled, from, size);
    writer->filled += size;
    return 0;
}

int snapshot_writer_end(struct snapshot_writer *writer)
{
    return write_snapshot_block(writer);
}
