/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OUTPUT_TEMPORARY_FILE_H
#define GASPIPE_BASE_OUTPUT_TEMPORARY_FILE_H

#include "base/error.h"

/* TMPDIR, or /tmp. */
const char *temporary_file_place(void);

/* A file there without a name, for reading and writing, which is gone when it is closed. -1 with
 * ERROR_SYSTEM. */
int temporary_file_open(struct error *error);

/* The same in another directory. */
int temporary_file_open_in(const char *place, struct error *error);

#endif
