/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_READER_H
#define GASPIPE_SLOG_READ_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json/scan.h"
#include "slog/read/source.h"

/* Reads a slogfile, or any file of lines, by line or in blocks of whole lines. */
struct reader;

/* A longer line is not kept. */
enum { READER_LONGEST_LINE = 32 * 1024 * 1024 };

/*
 * Whole lines, each with its newline; all zeros before the first use. SCAN_PADDING bytes after the
 * last line are readable. A quarter MiB, or more if one line is longer.
 */
struct reader_block {
    char *bytes; /* owned by the block: reader_free_block() */
    size_t length;
    size_t capacity;
    uint64_t position; /* bytes of the file read so far, before decompression */
    bool torn;         /* it is one line without a newline, at the end of the file */
    bool too_long;     /* it is the beginning of one line over READER_LONGEST_LINE */
};

/* "-" is standard input. Errors as source_open(). */
struct reader *reader_open(const char *path, struct error *error);

/*
 * Reads the next lines: 1 as soon as there is one, 0 at the end, -1 on failure (damaged or
 * unreadable input). With `follow`, a last line without newline is held back, and after 0 the call
 * can be repeated when the file has grown.
 */
int reader_next_block(struct reader *reader, bool follow, struct reader_block *block,
                      struct error *error);

/*
 * Finds the line at *position (0 at first), without its newline, and advances *position. False
 * after the last line.
 */
bool reader_next_line(const struct reader_block *block, size_t *position, struct scan_span *line);

/* One line. */
struct reader_line {
    const char *bytes; /* borrowed until the next call; SCAN_PADDING bytes after them are
                          readable */
    size_t length;     /* without the newline */
    uint64_t number;   /* from 1 */
    bool torn;         /* the file ended without a newline */
    bool too_long;     /* bytes are its beginning */
};

/* As reader_next_block(), by line. A reader is used in one of the two ways only. */
int reader_next(struct reader *reader, bool follow, struct reader_line *line, struct error *error);

const struct source *reader_source(const struct reader *reader);

/*
 * Call after 0 with `follow`. Returns 1 if the file was truncated and is read again from the
 * beginning; 0 if not, or if only a line that was held back was cut off; -1 with ERROR_SYSTEM.
 */
int reader_go_back(struct reader *reader, struct error *error);

void reader_free_block(struct reader_block *block);
void reader_close(struct reader *reader);

#endif
