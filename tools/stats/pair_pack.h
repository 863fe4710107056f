/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_PAIR_PACK_H
#define GASPIPE_TOOLS_STATS_PAIR_PACK_H

#include <stdint.h>

#include "base/buf.h"
#include "tools/stats/pairs.h"

/*
 * What tools/stats/pairs.h keeps of deliveries, in as few bytes as it takes: 20 to 50 for a
 * side, since slogfiles of gigabytes have hundreds of thousands of them. Failure of
 * memory stays in the buffer.
 */

/* Which delivery it is. The description is borrowed from where it is packed. */
struct pair_head {
    uint32_t vat;
    int64_t delivery_num;
    const char *description;
};

void pair_pack_head(struct buf *bytes, const struct pair_head *head);
struct pair_head pair_unpack_head(const char *at);

/* Of a side's digests this much is kept: two that differ are the same in 2^-48 of all cases. */
#define PAIR_DIGEST_MASK UINT64_C(0xffffffffffff)

/* With its digests, to which those of the other side will be compared; they are masked. */
void pair_pack_first(struct buf *bytes, const struct pair_side *side);
struct pair_side pair_unpack_first(const char *at);

/* With the result of that comparison in place of the digests, which are 0 afterwards. */
void pair_pack_second(struct buf *bytes, const struct pair_side *side, unsigned differences);
struct pair_side pair_unpack_second(const char *at, unsigned *differences);

#endif
