/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_LINES_H
#define GASPIPE_BASE_LINES_H

#include "base/buf.h"

/*
 * The line of the text that begins at *place (0 at first), without its newline, which the last one
 * need not have; moves *place behind it. False behind the last one.
 */
bool lines_next(const struct buf *text, size_t *place, const char **line, size_t *length);

#endif
