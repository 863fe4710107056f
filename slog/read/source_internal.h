/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_SOURCE_INTERNAL_H
#define GASPIPE_SLOG_SOURCE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "slog/read/source.h"

/* Between source.c and the files of its formats. */

enum { SOURCE_INPUT_SIZE = 128 * 1024, SOURCE_MAGIC_SIZE = 4 };

struct source_format {
    /* Sets source->state; the first bytes of the file are in source->in. NULL: nothing to do. */
    int (*begin)(struct source *source, struct error *error);
    /* As source_read(). */
    ssize_t (*read)(struct source *source, char *bytes, size_t size, struct error *error);
    /* Frees source->state. */
    void (*end)(struct source *source);
};

extern const struct source_format source_plain, source_gzip, source_zstd;

struct source {
    const struct source_format *format;
    const char *path; /* borrowed */
    int fd;
    char *in; /* SOURCE_INPUT_SIZE bytes, of which in_start to in_end wait to be used */
    size_t in_start, in_end;
    uint64_t position; /* how much of the file was read */
    uint64_t size;     /* of the file when it was opened; 0: not known */
    void *state;       /* the format's own */
    bool cut;
};

/* Sees to it that there is input; how much, 0 at the end of the file, -1 on failure. */
ssize_t source_fill(struct source *source, struct error *error);

#endif
