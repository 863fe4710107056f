/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/snapshot/snapshot_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "base/io.h"

/*
 * A call of stdio's for each piece would take as long as the rest. Who reads what is written runs
 * at the same time, and is woken less often by larger blocks. Four of them fill a pipe of a MiB,
 * the most that anybody may have.
 */
enum { BLOCK_SIZE = 256 << 10, BLOCKS = 5, PAGE = 4096 };

/* Not on the stack, whose depth XS measures. */
static unsigned char blocks[BLOCKS][BLOCK_SIZE] __attribute__((aligned(PAGE)));

/* Whether a block has left the pipe when its turn comes again: the others, all full, fill that. */
static bool may_splice(int fd)
{
    const int room = fcntl(fd, F_GETPIPE_SZ);

    return room > 0 && (size_t)room <= sizeof blocks - sizeof *blocks;
}

void snapshot_writer_begin(struct snapshot_writer *writer, int fd, bool splices)
{
    *writer = (struct snapshot_writer){.fd = fd, .splices = splices && may_splice(fd)};
}

/* 0 or an errno. */
static int splice_all(int fd, void *bytes, size_t size)
{
    struct iovec piece = {bytes, size};

    while (piece.iov_len > 0) {
        const ssize_t moved = vmsplice(fd, &piece, 1, 0);

        if (moved < 0 && errno != EINTR)
            return errno;
        if (moved > 0) {
            piece.iov_base = (char *)piece.iov_base + moved;
            piece.iov_len -= (size_t)moved;
        }
    }
    return 0;
}

static int write_block(struct snapshot_writer *writer)
{
    unsigned char *const block = blocks[writer->block];
    const size_t size = writer->filled;

    writer->filled = 0;
    if (!writer->splices)
        return io_write_all(writer->fd, block, size) == 0 ? 0 : errno;
    writer->block = (writer->block + 1) % BLOCKS;
    return splice_all(writer->fd, block, size);
}

int snapshot_writer_write(void *context, void *bytes, size_t size)
{
    struct snapshot_writer *const writer = context;
    const unsigned char *from = bytes;
    int problem;

    writer->size += size;
    while (size > BLOCK_SIZE - writer->filled) {
        const size_t part = BLOCK_SIZE - writer->filled;

        memcpy(blocks[writer->block] + writer->filled, from, part);
        writer->filled = BLOCK_SIZE;
        from += part;
        size -= part;
        problem = write_block(writer);
        if (problem != 0)
            return problem;
    }
    memcpy(blocks[writer->block] + writer->filled, from, size);
    writer->filled += size;
    return 0;
}

int snapshot_writer_end(struct snapshot_writer *writer)
{
    const int problem = write_block(writer);

    /* Where memory is short. To be given new pages for each snapshot takes as long as copying. */
    if (writer->splices)
        (void)madvise(blocks, sizeof blocks, MADV_FREE);
    return problem;
}
