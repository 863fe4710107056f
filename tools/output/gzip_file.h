/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_GZIP_FILE_H
#define GASPIPE_TOOLS_OUTPUT_GZIP_FILE_H

#include "base/buf.h"
#include "base/error.h"

/* A file that is written compressed with gzip, whole or not at all (base/output/output_file.h). */
struct gzip_file;

/* `what` is borrowed, for messages. NULL with ERROR_SYSTEM. */
struct gzip_file *gzip_file_open(const char *path, const char *what, struct error *error);

/* Writes the buffer and empties it. -1 with ERROR_SYSTEM, also when the buffer had failed. */
int gzip_file_write(struct gzip_file *file, struct buf *text, struct error *error);

/* Writes what is left, and gives the file its name. */
int gzip_file_finish(struct gzip_file *file, struct error *error);

/* Frees; an unfinished file is removed. NULL is allowed. */
void gzip_file_close(struct gzip_file *file);

#endif
