/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_FILE_ORDER_H
#define GASPIPE_TOOLS_INPUT_FILE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * The order in which slogfiles are one story. A shell's `*` gives the parts of a cut
 * slogfile in that of their names, run.1.zst before run.zst and run.10.zst before
 * run.2.zst.
 */

/*
 * The files (ended by NULL) in the order of their first lines' times, those that begin
 * together as they came; as they came too when one of them is no regular file, or its
 * beginning no slogfile's: who reads it will say so. Says on stderr when it is another
 * order than theirs. The list is to be freed, its strings are borrowed; NULL when memory
 * ran out.
 */
char **file_order(char *const *files, struct error *error);

/* The same of files of another kind, of which begin() tells when they begin, if it can. It is
 * called for regular files only. */
char **file_order_by(char *const *files, bool (*begin)(const char *path, int64_t *time),
                     struct error *error);

#endif
