/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_VARINT_H
#define GASPIPE_TOOLS_STATS_VARINT_H

#include <stdint.h>

#include "base/buf.h"

/*
 * Numbers in as few bytes as they need: seven bits a byte, the lowest first, the highest
 * bit set in all but the last one (LEB128).
 */

void varint_append(struct buf *bytes, uint64_t number);

/* The same for numbers of either sign, those near nought in the fewest bytes. */
void varint_append_signed(struct buf *bytes, int64_t number);

/* Reads what the above wrote at *at, and moves *at behind it. */
uint64_t varint_read(const char **at);
int64_t varint_read_signed(const char **at);

#endif
