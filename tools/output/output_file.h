/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_FILE_H
#define GASPIPE_TOOLS_OUTPUT_FILE_H

#include "base/buf.h"
#include "base/error.h"

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

/* Writes the buffer and empties it; fails too when the buffer had failed. */
int output_file_write(struct output_file *file, struct buf *out, struct error *error);

/* Closes it and gives it its name. */
int output_file_finish(struct output_file *file, struct error *error);

/* Takes an unfinished file away; nothing is left to do for a finished one. */
void output_file_discard(struct output_file *file);

#endif
