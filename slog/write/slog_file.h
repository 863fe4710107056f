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
 * A file that whole lines are appended to, with nothing lost or doubled when a
 * write fails: plain, or Zstandard when its name ends with ".zst".
 *
 * What was written can be read at once, also of a compressed file, and also when
 * this process is killed after it. Each opening begins a frame of its own, after
 * finishing one that a killed writer left.
 */
struct slog_file;

/*
 * Makes the file when it is missing; locks a regular one against a second writer
 * (flock). *torn: its last line has no newline. NULL with ERROR_SYSTEM, or
 * ERROR_INPUT when its name ends with ".zst" and its content is something else.
 */
struct slog_file *slog_file_open(const char *path, bool *torn, struct error *error);

/*
 * Appends lines, each with its newline. On failure (ERROR_SYSTEM) the file ends
 * with a whole line where it can be cut back, and *taken says how many of the
 * bytes are not to be given again; length 0 goes on with what was taken.
 */
int slog_file_write(struct slog_file *file, const char *lines, size_t length, size_t *taken,
                    struct error *error);

/* Its length in bytes, as it stands on the disk; 0 of what is no regular file. */
int64_t slog_file_size(const struct slog_file *file);

bool slog_file_is_regular(const struct slog_file *file);

/* Writes what is left, finishes the frame, and frees; frees also on failure. */
int slog_file_close(struct slog_file *file, struct error *error);

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

/*
 * The names of a slogfile's parts. Of FILE: FILE, FILE.1, FILE.2 and so on; of
 * NAME.zst: NAME.zst, NAME.1.zst, NAME.2.zst.
 */

/* The path of that part, from 0, in place of what was in `name`; NULL: no memory. */
const char *slog_parts_path(struct buf *name, const char *path, int64_t part);

/* The last part that is there, without a gap before it; 0: there is none but the first. */
int slog_parts_last(const char *path, int64_t *part, struct error *error);

#endif
