/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_DECODER_H
#define GASPIPE_SLOG_READ_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/read/record.h"

/*
 * The records of a slogfile in their order. With several jobs one thread reads ahead
 * while others scan what was read, side by side; the caller is one of them when it
 * would have to wait, so that there is a thread less than jobs.
 */
struct decoder;

enum { DECODER_MOST_JOBS = 64 };

struct decoder_line {
    struct record record;
    const char *why; /* NULL: a good line; else in a few words why it is none (static text) */
    bool blank;      /* nothing in it: neither good nor bad */
    bool torn;       /* the file ended within it */
    uint64_t count;  /* it, and those behind it that are blank, or bad for the same reason */
};

/* Some lines after each other, borrowed until the next call. */
struct decoder_batch {
    const struct decoder_line *lines;
    size_t count;
    uint64_t position; /* how far into the file they reach, about: bytes of it that were read */
};

/* `jobs` from 1 to DECODER_MOST_JOBS. Other errors as reader_open(). */
struct decoder *decoder_open(const char *path, unsigned jobs, struct error *error);

/*
 * 1 with the next lines, 0 at the end, -1 on failure. `follow` as in
 * reader_next_block(), and then with one job only.
 */
int decoder_next(struct decoder *decoder, bool follow, struct decoder_batch *batch,
                 struct error *error);

/* Its reader. With several jobs only the size of its source may be asked for between batches. */
struct reader *decoder_reader(const struct decoder *decoder);

void decoder_close(struct decoder *decoder);

#endif
