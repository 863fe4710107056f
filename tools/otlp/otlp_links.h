/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OTLP_OTLP_LINKS_H
#define GASPIPE_TOOLS_OTLP_OTLP_LINKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "slog/model/model.h"
#include "tools/otlp/otlp_span.h"

/*
 * The sends whose deliveries have not come yet, and the resolves, which can have
 * several notifies. All zeros has none.
 *
 * Some sends have no delivery ever, so the oldest are forgotten: the last
 * 131,072 at least are kept, in at most 24 MiB.
 */
struct otlp_links {
    struct otlp_waiting {
        struct otlp_send *slots; /* open addressing; owned */
        size_t slot_count, count;
    } old, young; /* when `young` is full it becomes `old` */
};

/*
 * Keeps a send. One with a result promise takes the place of an earlier one
 * with the same: that was undone, with the number of its promise. 0, or -1
 * when memory ran out.
 */
int otlp_links_send(struct otlp_links *links, struct model_message message,
                    const struct otlp_context *send, struct error *error);

/* Gives the send that brought this message, and forgets it. False when it is not known. */
bool otlp_links_take(struct otlp_links *links, struct model_message message,
                     struct otlp_context *send);

/* Keeps what settled a promise (its digest, as in struct model_event), until it is settled anew. */
int otlp_links_resolve(struct otlp_links *links, uint64_t promise,
                       const struct otlp_context *resolve, struct error *error);

/* Gives what settled a promise, and keeps it. False when it is not known. */
bool otlp_links_resolved(struct otlp_links *links, uint64_t promise, struct otlp_context *resolve);

void otlp_links_free(struct otlp_links *links);

#endif
