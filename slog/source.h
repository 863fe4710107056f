/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_SOURCE_H
#define GASPIPE_SLOG_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * The bytes of a slogfile, whatever holds them: a plain file or a pipe, gzip
 * (RFC 1952, several members after each other too) or Zstandard (RFC 8878).
 * Which of them it is, the first bytes say, not the name.
 */
struct source;

/* "-" is standard input. NULL with ERROR_INPUT (missing, a folder) or ERROR_SYSTEM. */
struct source *source_open(const char *path, struct error *error);

/*
 * Reads up to `size` bytes. Their number; 0 at the end, after which a plain
 * file that has grown gives more; -1 with ERROR_INPUT when compressed data is
 * damaged, or ERROR_SYSTEM.
 */
ssize_t source_read(struct source *source, char *bytes, size_t size, struct error *error);

/* How many bytes of the file were read, and how many it had; 0: not known, as of a pipe. */
uint64_t source_position(const struct source *source);
uint64_t source_size(const struct source *source);

/*
 * Whether the end came in the middle of compressed data, as when a writer was
 * killed; what was there before has been read all the same.
 */
int source_is_cut(const struct source *source);

/* Whether source_read() can be tried again at the end: a plain file. */
int source_can_grow(const struct source *source);

void source_close(struct source *source);

#endif
