/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_CAUSES_LINKS_H
#define GASPIPE_SLOG_MODEL_CAUSES_LINKS_H

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

/* Keeps what settled a promise (its digest, as in struct model_event), until it is settled anew. */
int links_resolve(struct links *links, uint64_t promise, const struct link *resolve,
                  struct error *error);

/* Gives what settled a promise, and keeps it. False when it is not known. */
bool links_resolved(struct links *links, uint64_t promise, struct link *resolve);

void links_free(struct links *links);

#endif
