/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_SNAPSHOT_WRITER_H
#define GASPIPE_WORKER_XS_SNAPSHOT_WRITER_H

#include <stddef.h>

/* Joins a snapshot's hundreds of thousands of small pieces to blocks. One snapshot at a time. */
struct snapshot_writer {
    int fd;        /* borrowed */
    size_t size;   /* of everything written */
    size_t filled; /* of the block */
};

void snapshot_writer_begin(struct snapshot_writer *writer, int fd);

/* As XS calls it with a struct snapshot_writer: 0 or an errno. */
int snapshot_writer_write(void *context, void *bytes, size_t size);

/* Writes the rest. 0 or an errno. */
int snapshot_writer_end(struct snapshot_writer *writer);

#endif
