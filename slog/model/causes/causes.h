/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_CAUSES_CAUSES_H
#define GASPIPE_SLOG_MODEL_CAUSES_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/causes/links.h"
#include "slog/model/model.h"

/*
 * Which delivery made which: by a send, or by a resolve that it is the notify of.
 *
 * A chain is all that one thing from outside began: what came in last, if it came in the same
 * block, else the first delivery whose cause is not known. All zeros is the beginning.
 */
struct causes {
    struct links links;
    uint64_t deliveries, chains;
    uint64_t trigger; /* the chain of what came in last in this block; 0: nothing did */
};

/* Something came in, and begins a chain; its number, from 1 on. */
uint64_t causes_inbound(struct causes *causes);

/* A block or a kernel's process begins: what came in before has begun all that it will. */
void causes_block(struct causes *causes);

/*
 * Fills in the delivery's number, cause and chain, and what waits for it since when. `sent` is
 * when it was sent, on the clock of the moments given to causes_note().
 */
void causes_find(struct causes *causes, struct model_delivery *delivery, int64_t sent);

/* Notes that a delivery, whose causes were found, made a request at `moment`. -1: no memory. */
int causes_note(struct causes *causes, const struct model_delivery *delivery,
                const struct model_event *event, int64_t moment, struct error *error);

void causes_free(struct causes *causes);

#endif
