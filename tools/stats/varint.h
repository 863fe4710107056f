/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_VARINT_H
#define GASPIPE_TOOLS_STATS_VARINT_H

#include <stdint.h>

#include "base/buf.h"

/*
 * Variable-length numbers: seven bits per byte, the lowest first, the top bit set in all bytes but
 * the last (LEB128).
 */

void varint_append(struct buf *bytes, uint64_t number);

/* The same for signed numbers; those near 0 take the fewest bytes. */
void varint_append_signed(struct buf *bytes, int64_t number);

/* Read such a number at *at and advance *at. */
uint64_t varint_read(const char **at);
int64_t varint_read_signed(const char **at);

#endif
