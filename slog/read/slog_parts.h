/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_SLOG_PARTS_H
#define GASPIPE_SLOG_READ_SLOG_PARTS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * The names of a slogfile's parts. Of FILE: FILE, FILE.1, FILE.2 and so on; of
 * NAME.zst: NAME.zst, NAME.1.zst, NAME.2.zst.
 */

/* The path of that part, from 0, in place of what was in `name`; NULL: no memory. */
const char *slog_parts_path(struct buf *name, const char *path, int64_t part);

/* The last part that is there, without a gap before it; 0: there is none but the first. */
int slog_parts_last(const char *path, int64_t *part, struct error *error);

#endif
