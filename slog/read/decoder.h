/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_DECODER_H
#define GASPIPE_SLOG_READ_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/read/record.h"

/*
 * The records of a slogfile, in order. With several jobs, one thread reads ahead while others
 * parse what was read. The caller helps when it would otherwise wait, so there is one thread less
 * than jobs.
 */
struct decoder;

enum { DECODER_MOST_JOBS = 64 };

struct decoder_line {
    struct record record;
    const char *why; /* NULL: a good line; else why it is not (static text) */
    bool blank;      /* empty: neither good nor bad */
    bool torn;       /* the file ended within it */
    uint64_t count;  /* this line and those after it that are blank, or bad for the same reason */
};

/* Consecutive lines, borrowed until the next call. */
struct decoder_batch {
    const struct decoder_line *lines;
    size_t count;
    uint64_t position; /* approximate: bytes of the file read so far */
};

/* `jobs` from 1 to DECODER_MOST_JOBS. Other errors as reader_open(). */
struct decoder *decoder_open(const char *path, unsigned jobs, struct error *error);

/*
 * 1 with the next lines, 0 at the end, -1 on failure. `follow` is that of reader_next_block() and
 * requires one job.
 */
int decoder_next(struct decoder *decoder, bool follow, struct decoder_batch *batch,
                 struct error *error);

/* Its reader. Between batches of several jobs only the size of its source may be read. */
struct reader *decoder_reader(const struct decoder *decoder);

void decoder_close(struct decoder *decoder);

#endif
