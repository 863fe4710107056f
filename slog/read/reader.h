/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_READER_H
#define GASPIPE_SLOG_READ_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json/scan.h"
#include "slog/read/source.h"

/* A slogfile, or any file of lines, line by line or in blocks of whole lines. */
struct reader;

/* A longer line is not kept. */
enum { READER_LONGEST_LINE = 32 * 1024 * 1024 };

/*
 * Some whole lines, each with its newline; all zeros before the first use.
 * SCAN_PADDING bytes behind the last one are readable. A quarter MiB, more only
 * when a line is longer.
 */
struct reader_block {
    char *bytes; /* owned by the block: reader_free_block() */
    size_t length;
    size_t capacity;
    uint64_t position; /* how much of the file had been read, compressed bytes where it is so */
    bool torn;         /* the file ended within its one line, which has no newline */
    bool too_long;     /* it is the beginning of one line that is too long */
};

/* "-" is standard input. Errors as source_open(). */
struct reader *reader_open(const char *path, struct error *error);

/*
 * 1 with the next lines in *block, as soon as there is one; 0 at the end; -1 on
 * failure (the input is damaged or cannot be read). With `follow`, a last line
 * without newline is not given but kept, and after a 0 the call can be made
 * again when the file has grown.
 */
int reader_next_block(struct reader *reader, bool follow, struct reader_block *block,
                      struct error *error);

/*
 * The line of the block that begins at *position (0 at first), without its
 * newline; moves *position behind it. False behind the last one.
 */
bool reader_next_line(const struct reader_block *block, size_t *position, struct scan_span *line);

/* A line by itself. */
struct reader_line {
    const char *bytes; /* borrowed until the next call; SCAN_PADDING bytes behind are readable */
    size_t length;     /* without the newline */
    uint64_t number;   /* from 1 */
    bool torn;         /* the file ended without a newline */
    bool too_long;     /* bytes are its beginning */
};

/*
 * The same as reader_next_block(), line by line. A reader is read in one of the
 * two ways, not in both.
 */
int reader_next(struct reader *reader, bool follow, struct reader_line *line, struct error *error);

const struct source *reader_source(const struct reader *reader);

/*
 * To be asked after a 0 with `follow`: 1 when the file was cut back and is read again from
 * its beginning, 0 when not, or when only a line that was not given yet was cut off; -1 with
 * ERROR_SYSTEM.
 */
int reader_go_back(struct reader *reader, struct error *error);

void reader_free_block(struct reader_block *block);
void reader_close(struct reader *reader);

#endif
