/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_SNAPSHOT_SNAPSHOT_WRITER_H
#define GASPIPE_WORKER_XS_SNAPSHOT_SNAPSHOT_WRITER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What a snapshot is written with: some hundred thousand pieces of a few bytes each are put
 * together to blocks. One snapshot at a time.
 */

struct snapshot_writer {
    int fd;
    size_t size; /* of all that was written */
    bool splices;
    unsigned block; /* which is being filled, */
    size_t filled;  /* up to there */
};

/*
 * Into that descriptor, which is borrowed. `splices`: if it is a pipe, it may get the blocks' own
 * pages (vmsplice(2)), which are written to again once the pipe cannot hold them any more. So
 * whoever reads it has to copy, as read(2) does: with splice(2) or tee(2) it would see later bytes.
 */
void snapshot_writer_begin(struct snapshot_writer *writer, int fd, bool splices);

/* As XS calls it with a struct snapshot_writer: 0 or an errno. */
int snapshot_writer_write(void *context, void *bytes, size_t size);

/* Writes what is left. 0 or an errno. */
int snapshot_writer_end(struct snapshot_writer *writer);

#endif
