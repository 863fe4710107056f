/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READER_H
#define GASPIPE_SLOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * The lines of a slogfile, one after the other. Memory is one buffer of half a
 * MiB, more only while a line is longer than that.
 */
struct reader;

/* A longer line is not kept: its too_long is set and its bytes are its beginning. */
enum { READER_LONGEST_LINE = 32 * 1024 * 1024 };

struct reader_line {
    const char *bytes; /* borrowed until the next call; SCAN_PADDING bytes behind are readable */
    size_t length;     /* without the newline */
    uint64_t number;   /* from 1 */
    bool torn;         /* the file ended without a newline */
    bool too_long;
};

/* "-" is standard input. Errors as source_open(). */
struct reader *reader_open(const char *path, struct error *error);

/*
 * 1 with the next line, 0 at the end, -1 on failure (the input is damaged or
 * cannot be read). With `follow`, a last line without newline is not given but
 * kept, and after a 0 the call can be made again when the file has grown.
 */
int reader_next(struct reader *reader, bool follow, struct reader_line *line, struct error *error);

/* Whether compressed input ended before its end, as after a crash. */
bool reader_is_cut(const struct reader *reader);

/* Whether the file can grow and reader_next() be called again. */
bool reader_can_grow(const struct reader *reader);

void reader_close(struct reader *reader);

#endif
