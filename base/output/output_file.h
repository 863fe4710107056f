/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OUTPUT_OUTPUT_FILE_H
#define GASPIPE_BASE_OUTPUT_OUTPUT_FILE_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Refuses, with ERROR_USAGE, to write `what` ("the trace") to `path` when that is the
 * ordinary file `input`, by device and inode: also through links and however the two are
 * spelled. 0 when they differ, or when there is no file at one of them yet.
 */
int output_file_check(const char *path, const char *what, const char *input, struct error *error);

/* The same of an open descriptor, such as standard output, against the input. */
int output_file_check_descriptor(int fd, const char *what, const char *input, struct error *error);

/*
 * Refuses, with ERROR_USAGE, two outputs that would end up as one file, there already or not.
 */
int output_file_check_apart(const char *path, const char *what, const char *other_path,
                            const char *other, struct error *error);

/* An output that the user may have asked for. */
struct output_wanted {
    const char *path; /* NULL: not asked for */
    const char *what; /* which option it is of */
};

/* The same of each two of them. */
int output_file_check_all_apart(const struct output_wanted *outputs, size_t count,
                                struct error *error);

/*
 * A file that a report is written into, whole or not at all: under another name
 * beside its own until it is finished. Links are followed; what is there and no
 * ordinary file, such as a device or a pipe, is written as it is.
 *
 * A signal that ends the process (SIGINT, SIGTERM, SIGHUP, SIGPIPE) takes the
 * unfinished file away first.
 */
struct output_file {
    int fd;           /* -1: not open */
    char *path;       /* owned; what it becomes */
    char *unfinished; /* owned; NULL: written in place, or it has its name */
    const char *what; /* borrowed; for messages: "the trace" */
};

/* At most this many are open at once. */
enum { OUTPUT_FILES = 4 };

/* All of them fail with ERROR_SYSTEM. After a failure output_file_discard() is called, or after
 * output_file_open() need not be. */
int output_file_open(struct output_file *file, const char *path, const char *what,
                     struct error *error);

/*
 * As output_file_open(), but what is written can be read at once under the file's own name,
 * for a reader who follows it: what was there is gone, and a failure leaves a part.
 */
int output_file_open_growing(struct output_file *file, const char *path, const char *what,
                             struct error *error);

/* Writes the buffer and empties it; fails too when the buffer had failed. */
int output_file_write(struct output_file *file, struct buf *out, struct error *error);

int output_file_write_bytes(struct output_file *file, const char *bytes, size_t length,
                            struct error *error);

/* Closes it and gives it its name. */
int output_file_finish(struct output_file *file, struct error *error);

/* Opens it, writes the buffer, which is empty then, and finishes it. */
int output_file_write_whole(const char *path, const char *what, struct buf *out,
                            struct error *error);

/* Takes an unfinished file away; nothing is left to do for a finished one. */
void output_file_discard(struct output_file *file);

#endif
