/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_CHAINS_H
#define GASPIPE_TOOLS_STATS_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"
#include "slog/read/names.h"

/*
 * Deliveries by chain: all that one thing from outside began (slog/model/causes/causes.h). Each
 * delivery takes 72 bytes, each chain about 150.
 */

/* A delivery of a chain. Times are nanoseconds, MODEL_NONE: not known. */
struct chain_link {
    uint64_t cause; /* the number of the one that caused it; 0: not known */
    uint64_t chain;
    int64_t start, total, queued;
    int64_t crank_num, delivery_num;
    uint32_t vat;  /* in vats: its id, '\0', its name */
    uint32_t kind; /* in kinds: "message transfer" */
};

struct chain {
    uint64_t number; /* from 1 on; 0: none of this number */
    bool wanted;     /* one of its deliveries was */
    char *inbound;   /* type, '\0', inboundNum, '\0', source; owned; NULL: nothing is known */
    int64_t block_height;
    int64_t start, end; /* since the epoch: from what came in to the end of its last delivery */
    uint64_t deliveries;
    uint64_t first, last; /* deliveries: the first one, and the one that ended last */
    int64_t total;        /* of its deliveries */
    int64_t queued, most_queued;
    double compute, instructions; /* sums of what is known */
};

/* All zeros is empty. */
struct chains {
    struct chain_link *links; /* by the delivery's number - 1; owned */
    size_t link_count, link_capacity;
    struct chain *chains; /* by number - 1; owned */
    size_t count, capacity;
    struct names vats, kinds;
    bool failed; /* memory ran out */
};

/* Takes in a delivery (with labels). -1 when memory ran out. */
int chains_add(struct chains *chains, const struct model_delivery *delivery, bool wanted,
               struct error *error);

/* Takes in what begins a chain. Failure shows when the next delivery is added, or as `failed`. */
void chains_add_inbound(struct chains *chains, const struct model_inbound *inbound);

/* The delivery that caused this one; NULL: not known. */
const struct chain_link *chains_cause(const struct chains *chains, const struct chain_link *link);

/* How many vats took part. 0 also when memory ran out. */
size_t chains_vats(const struct chains *chains, const struct chain *chain);

void chains_free(struct chains *chains);

#endif
