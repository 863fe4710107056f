/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_CODEC_H
#define GASPIPE_SLOG_READ_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Decompression, fed with bytes: no I/O. */

struct codec_input {
    const char *at;
    size_t length;
};

struct codec {
    const char *name;  /* "gzip" */
    const char *magic; /* the first bytes of a file */
    size_t magic_length;

    /* A state, which end() frees; NULL: out of memory. */
    void *(*begin)(void);
    void (*end)(void *state);

    /*
     * Decompresses up to `size` bytes (> 0) and takes what it consumed from the input, which is
     * empty only at the end of the file. Returns how many bytes came out; 0: it wants more input.
     * -1 with *problem when the data is damaged.
     */
    ssize_t (*decode)(void *state, struct codec_input *input, char *bytes, size_t size,
                      const char **problem);

    /* Whether the data decoded so far is incomplete. */
    bool (*is_inside)(const void *state);
};

extern const struct codec codec_gzip, codec_zstd;

#endif
