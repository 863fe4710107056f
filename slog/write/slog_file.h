/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_WRITE_SLOG_FILE_H
#define GASPIPE_SLOG_WRITE_SLOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends whole lines to a file, without losing or repeating any when a write fails: plain text,
 * or Zstandard if its name ends with ".zst".
 *
 * Readers see each write at once, also in a compressed file, and also if this process is killed
 * next. Each opening begins a new frame, after finishing one that a killed writer left.
 */
struct slog_file;

/*
 * Creates the file if absent; locks a regular one against other writers (flock). *torn: its last
 * line has no newline. NULL with ERROR_SYSTEM, or ERROR_INPUT if its name ends with ".zst" and it
 * holds something else.
 */
struct slog_file *slog_file_open(const char *path, bool *torn, struct error *error);

/*
 * Appends lines, each with its newline. On failure (ERROR_SYSTEM) the file is truncated to a whole
 * line if possible, and *taken says how many bytes must not be passed again; length 0 retries what
 * was taken.
 */
int slog_file_write(struct slog_file *file, const char *lines, size_t length, size_t *taken,
                    struct error *error);

/* Its length on disk in bytes; 0 if it is not a regular file. */
int64_t slog_file_size(const struct slog_file *file);

bool slog_file_is_regular(const struct slog_file *file);

/* Writes what is left, finishes the frame, and frees the file, also on failure. */
int slog_file_close(struct slog_file *file, struct error *error);

/*
 * The end of a Zstandard file to which a frame will be appended. Its last frame may be unfinished,
 * because its writer was killed.
 */
struct zstd_tail {
    int64_t size;    /* where its whole blocks end; the rest is useless */
    bool unfinished; /* zstd_tail_end must follow before another frame */
    bool torn;       /* its text does not end with a newline */
};

/* An empty last block. */
extern const struct iovec zstd_tail_end;

/*
 * -1 with ERROR_INPUT if the file, named `path` in messages, is not Zstandard, is damaged, or ends
 * in an unfinished frame that base/output/packer.h did not write, which an empty block could not
 * finish; else ERROR_SYSTEM.
 */
int zstd_tail_find(int fd, const char *path, int64_t size, struct zstd_tail *tail,
                   struct error *error);

/*
 * The names of a slogfile's parts: FILE, FILE.1, FILE.2, …; or NAME.zst, NAME.1.zst, NAME.2.zst,
 * ….
 */

/* Stores the path of a part, from 0, in `name` and returns it; NULL when out of memory. */
const char *slog_parts_path(struct buf *name, const char *path, int64_t part);

/* The last part that exists, without a gap before it; 0 if only the first does. */
int slog_parts_last(const char *path, int64_t *part, struct error *error);

#endif
