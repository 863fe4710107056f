/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_SOURCE_H
#define GASPIPE_SLOG_READ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * The bytes of a slogfile, whatever holds them: a plain file or a pipe, gzip
 * (RFC 1952, several members after each other too), Zstandard (RFC 8878) or a
 * flight recorder (agoric-sdk, @agoric/telemetry).
 * Which of them it is, the first bytes say, not the name.
 */
struct source;

/* How many bytes of a file are read at once. */
enum { SOURCE_INPUT_SIZE = 128 * 1024 };

/* "-" is standard input. NULL with ERROR_INPUT (missing, a folder) or ERROR_SYSTEM. */
struct source *source_open(const char *path, struct error *error);

/*
 * Reads up to `size` bytes. Their number; 0 at the end, after which a file that
 * has grown gives more; -1 with ERROR_INPUT when compressed data is
 * damaged, or ERROR_SYSTEM.
 */
ssize_t source_read(struct source *source, char *bytes, size_t size, struct error *error);

/* How many bytes of the file were read, and how many it had; 0: not known, as of a pipe. */
uint64_t source_position(const struct source *source);
uint64_t source_size(const struct source *source);

/*
 * Whether the end came in the middle of compressed data, as when a writer was
 * killed or is still at work; what was there before has been read all the same.
 */
int source_is_cut(const struct source *source);

/* How often a flight recorder lost records, because its writer was faster or left no whole one. */
uint64_t source_losses(const struct source *source);

/* Whether its bytes are as they are in the file, or nothing is in it yet. */
bool source_is_plain(const struct source *source);

/* How many of the bytes that were read are no longer in the file, which was cut back; 0: none. */
uint64_t source_missing(const struct source *source);

/*
 * Goes on reading from `position`, which is where a plain file was cut back to, or 0: then
 * all begins anew. -1 with ERROR_SYSTEM.
 */
int source_go_back(struct source *source, uint64_t position, struct error *error);

void source_close(struct source *source);

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
