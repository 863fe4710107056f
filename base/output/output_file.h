/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OUTPUT_OUTPUT_FILE_H
#define GASPIPE_BASE_OUTPUT_OUTPUT_FILE_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Fails with ERROR_USAGE if `path`, to which `what` ("the trace") will be written, is the regular
 * file `input` by device and inode, also through links. 0 if they differ or one does not exist
 * yet.
 */
int output_file_check(const char *path, const char *what, const char *input, struct error *error);

/* The same for an open descriptor, such as standard output. */
int output_file_check_descriptor(int fd, const char *what, const char *input, struct error *error);

/* Fails with ERROR_USAGE if two outputs are or would become one file. */
int output_file_check_apart(const char *path, const char *what, const char *other_path,
                            const char *other, struct error *error);

/* An output that the user may have asked for. */
struct output_wanted {
    const char *path; /* NULL: not asked for */
    const char *what; /* its option */
};

/* The same for all pairs. */
int output_file_check_all_apart(const struct output_wanted *outputs, size_t count,
                                struct error *error);

/*
 * A file that is written completely or not at all: under another name next to its own until it is
 * finished. Follows links; writes in place if the path is not a regular file, such as a device or
 * a pipe.
 *
 * A signal that ends the process (SIGINT, SIGTERM, SIGHUP, SIGPIPE) first removes the unfinished
 * file.
 */
struct output_file {
    int fd;           /* -1: not open */
    char *path;       /* owned; its final path */
    char *unfinished; /* owned; NULL if written in place or finished */
    const char *what; /* borrowed; for messages: "the trace" */
};

/* The most that are open at once. */
enum { OUTPUT_FILES = 4 };

/*
 * All fail with ERROR_SYSTEM. Unless output_file_open() failed, call output_file_discard() at the
 * end, also of a finished file.
 */
int output_file_open(struct output_file *file, const char *path, const char *what,
                     struct error *error);

/*
 * As output_file_open(), but written in place, so that it can be read while it grows: the old
 * content is lost, and a failure leaves a part.
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

/* Removes an unfinished file; does nothing for a finished one. */
void output_file_discard(struct output_file *file);

#endif
