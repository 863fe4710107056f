/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_ZSTD_TAIL_H
#define GASPIPE_SLOG_READ_ZSTD_TAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

/*
 * How a Zstandard file ends, for who wants to append a frame to it: its last
 * frame may be unfinished, because its writer was killed.
 */
struct zstd_tail {
    int64_t size;    /* up to here the file is whole blocks; what is behind is of no use */
    bool unfinished; /* zstd_tail_end has to be put there before another frame */
    bool torn;       /* the text in it does not end with a newline */
};

/* A last block without content. */
extern const struct iovec zstd_tail_end;

/*
 * -1 with ERROR_INPUT when the file, `path` in words, is no such file, is damaged,
 * or ends in an unfinished frame that base/output/packer.h did not make: finishing that
 * would want more than an empty block. Else ERROR_SYSTEM.
 */
int zstd_tail_find(int fd, const char *path, int64_t size, struct zstd_tail *tail,
                   struct error *error);

#endif
