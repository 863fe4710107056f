/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_SOURCE_H
#define GASPIPE_SLOG_READ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Reads the bytes of a slogfile: a plain file, a pipe, gzip (RFC 1952, also several members in a
 * row), Zstandard (RFC 8878) or a flight recorder (agoric-sdk, @agoric/telemetry). The first bytes
 * decide which, not the name.
 */
struct source;

/* Bytes read at once. */
enum { SOURCE_INPUT_SIZE = 128 * 1024 };

/* "-" is standard input. NULL with ERROR_INPUT (missing, or a directory) or ERROR_SYSTEM. */
struct source *source_open(const char *path, struct error *error);

/*
 * Reads up to `size` bytes and returns how many; 0 at the end, after which a file that has grown
 * gives more; -1 with ERROR_INPUT for damaged compressed data, or ERROR_SYSTEM.
 */
ssize_t source_read(struct source *source, char *bytes, size_t size, struct error *error);

/* The bytes read so far, and the file's size when it was opened; 0 if not known, as for a pipe. */
uint64_t source_position(const struct source *source);
uint64_t source_size(const struct source *source);

/*
 * True if the file ended in the middle of compressed data, because its writer was killed or is
 * still writing; everything before was read.
 */
int source_is_cut(const struct source *source);

/*
 * How often records of a flight recorder were lost, because the writer overtook the reader or left
 * the oldest record incomplete.
 */
uint64_t source_losses(const struct source *source);

/* True if the bytes are those of the file, or the file is still empty. */
bool source_is_plain(const struct source *source);

/* How many of the bytes read are no longer in the file, because it was truncated. */
uint64_t source_missing(const struct source *source);

/*
 * Continues at `position`: the size to which a plain file was truncated, or 0 to begin again. -1
 * with ERROR_SYSTEM.
 */
int source_go_back(struct source *source, uint64_t position, struct error *error);

void source_close(struct source *source);

/* A decompressor. It is fed with bytes and does no I/O. */

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
     * Decompresses up to `size` bytes (> 0) and removes from the input what it consumed; an empty
     * input means the end of the file. Returns how many bytes came out; 0 if it needs more input;
     * -1 with *problem if the data is damaged.
     */
    ssize_t (*decode)(void *state, struct codec_input *input, char *bytes, size_t size,
                      const char **problem);

    /* Returns true if the data decoded so far is incomplete. */
    bool (*is_inside)(const void *state);
};

extern const struct codec codec_gzip, codec_zstd;

#endif
