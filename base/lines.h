/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_LINES_H
#define GASPIPE_BASE_LINES_H

#include "base/buf.h"

/*
 * Finds the line at *place (0 at first), without its newline, which the last line may lack;
 * advances *place. False after the last line.
 */
bool lines_next(const struct buf *text, size_t *place, const char **line, size_t *length);

#endif
