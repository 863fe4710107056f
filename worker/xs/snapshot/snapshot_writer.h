/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_SNAPSHOT_SNAPSHOT_WRITER_H
#define GASPIPE_WORKER_XS_SNAPSHOT_SNAPSHOT_WRITER_H

#include <stddef.h>

/*
 * What a snapshot is written with: some hundred thousand pieces of a few bytes each are put
 * together to blocks. One snapshot at a time.
 */

struct snapshot_writer {
    int fd;
    size_t size;   /* of all that was written */
    size_t filled; /* of the block */
};

/* Writes to that descriptor, which is borrowed. */
void snapshot_writer_begin(struct snapshot_writer *writer, int fd);

/* As XS calls it with a struct snapshot_writer: 0 or an errno. */
int snapshot_writer_write(void *context, void *bytes, size_t size);

/* Writes what is left. 0 or an errno. */
int snapshot_writer_end(struct snapshot_writer *writer);

#endif
