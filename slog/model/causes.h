/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_CAUSES_H
#define GASPIPE_SLOG_MODEL_CAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"

/* Data kept with a send or resolve. */
struct link {
    uint64_t words[3];
};

/*
 * Sends whose deliveries have not come yet, and resolves, which may have several notifies. All
 * zeros is empty.
 *
 * Some sends never have a delivery, so the oldest are dropped: at least the last 131,072 are kept,
 * in at most 24 MiB.
 */
struct links {
    struct links_waiting {
        struct links_send *slots; /* open addressing; owned */
        size_t slot_count, count;
    } old, young; /* a full `young` replaces `old` */
};

/*
 * Adds a send. It replaces an earlier one with the same result promise: that was rolled back, and
 * the promise's number used again. -1 when out of memory.
 */
int links_send(struct links *links, struct model_message message, const struct link *send,
               struct error *error);

/* Finds and removes the send of this message. False if not known. */
bool links_take(struct links *links, struct model_message message, struct link *send);

/* Finds what settled a promise. False if not known. */
bool links_resolved(struct links *links, uint64_t promise, struct link *resolve);

/* Adds what a request sends and resolves. -1 when out of memory. */
int links_add_event(struct links *links, const struct model_event *event, const struct link *link,
                    struct error *error);

void links_free(struct links *links);

/*
 * Finds the delivery that caused a delivery: by a send, or by a resolve that led to a notify.
 *
 * A chain is everything that one event from outside began: the last event of the same block, else
 * the first delivery without a known cause. All zeros is the beginning.
 */
struct causes {
    struct links links; /* links_free() */
    uint64_t deliveries, chains;
    uint64_t trigger; /* the chain of the block's last event from outside; 0: none */
};

/* Takes an event from outside. Returns the number of its chain, from 1. */
uint64_t causes_inbound(struct causes *causes);

/* A block or a kernel process begins: deliveries after it belong to no earlier event. */
void causes_block(struct causes *causes);

/*
 * Fills the delivery's number, cause, chain and time in the queue. `sent` is when it was sent, on
 * the clock of the moments given to causes_note().
 */
void causes_find(struct causes *causes, struct model_delivery *delivery, int64_t sent);

/* Adds a request that a delivery, after causes_find(), made at `moment`. -1 when out of memory. */
int causes_note(struct causes *causes, const struct model_delivery *delivery,
                const struct model_event *event, int64_t moment, struct error *error);

#endif
