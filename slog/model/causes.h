/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_CAUSES_H
#define GASPIPE_SLOG_MODEL_CAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"

/* What the user of a link wants to know of its send or resolve. */
struct link {
    uint64_t words[3];
};

/*
 * The sends whose deliveries have not come yet, and the resolves, which can have
 * several notifies. All zeros has none.
 *
 * Some sends have no delivery ever, so the oldest are forgotten: the last
 * 131,072 at least are kept, in at most 24 MiB.
 */
struct links {
    struct links_waiting {
        struct links_send *slots; /* open addressing; owned */
        size_t slot_count, count;
    } old, young; /* when `young` is full it becomes `old` */
};

/*
 * Keeps a send. One with a result promise takes the place of an earlier one
 * with the same: that was undone, with the number of its promise. 0, or -1
 * when memory ran out.
 */
int links_send(struct links *links, struct model_message message, const struct link *send,
               struct error *error);

/* Gives the send that brought this message, and forgets it. False when it is not known. */
bool links_take(struct links *links, struct model_message message, struct link *send);

/* Gives what settled a promise, and keeps it. False when it is not known. */
bool links_resolved(struct links *links, uint64_t promise, struct link *resolve);

/* Keeps what a request sends and resolves. */
int links_add_event(struct links *links, const struct model_event *event, const struct link *link,
                    struct error *error);

void links_free(struct links *links);

/*
 * Which delivery made which: by a send, or by a resolve that it is the notify of.
 *
 * A chain is all that one thing from outside began: what came in last, if it came in the same
 * block, else the first delivery whose cause is not known. All zeros is the beginning.
 */
struct causes {
    struct links links; /* links_free() */
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

#endif
