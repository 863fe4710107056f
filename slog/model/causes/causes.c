/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/causes/causes.h"

/* What a link's words are. */
enum { LINK_DELIVERY, LINK_MOMENT, LINK_CHAIN };

uint64_t causes_inbound(struct causes *causes)
{
    causes->trigger = ++causes->chains;
    return causes->trigger;
}

void causes_block(struct causes *causes)
{
    causes->trigger = 0;
}

/* The latest of them is what the delivery waited for. */
static void take_link(struct model_delivery *delivery, const struct link *link, int64_t sent)
{
    int64_t moment = (int64_t)link->words[LINK_MOMENT], queued;

    if (delivery->cause >= link->words[LINK_DELIVERY])
        return;
    delivery->cause = link->words[LINK_DELIVERY];
    delivery->chain = link->words[LINK_CHAIN];
    delivery->queued =
        __builtin_sub_overflow(sent, moment, &queued) || queued < 0 ? MODEL_NONE : queued;
}

void causes_find(struct causes *causes, struct model_delivery *delivery, int64_t sent)
{
    struct link link;

    delivery->number = ++causes->deliveries;
    if (delivery->replay)
        return;
    if (links_take(&causes->links, delivery->message, &link))
        take_link(delivery, &link, sent);
    for (size_t i = 0; i < delivery->promise_count; i++) {
        if (links_resolved(&causes->links, delivery->promises[i], &link))
            take_link(delivery, &link, sent);
    }
    if (delivery->chain == 0)
        delivery->chain = causes->trigger != 0 ? causes->trigger : ++causes->chains;
}

int causes_note(struct causes *causes, const struct model_delivery *delivery,
                const struct model_event *event, int64_t moment, struct error *error)
{
    struct link link = {{delivery->number, (uint64_t)moment, delivery->chain}};

    if (links_send(&causes->links, event->message, &link, error) != 0)
        return -1;
    for (size_t i = 0; i < event->promise_count; i++) {
        if (links_resolve(&causes->links, event->promises[i], &link, error) != 0)
            return -1;
    }
    return 0;
}

void causes_free(struct causes *causes)
{
    links_free(&causes->links);
}
