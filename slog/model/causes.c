/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/causes.h"

#include <stdlib.h>

enum { WAITING_MOST = 1 << 17, FIRST_SLOTS = 1 << 8 };

struct links_send {
    struct model_message message; /* digest 0: the slot is free */
    struct link value;
};

static bool is_same_message(struct model_message a, struct model_message b)
{
    return a.digest == b.digest && a.promised == b.promised;
}

static size_t home_of(const struct links_waiting *waiting, struct model_message message)
{
    return (message.digest ^ message.digest >> 32) & (waiting->slot_count - 1);
}

static size_t slot_after(const struct links_waiting *waiting, size_t slot)
{
    return (slot + 1) & (waiting->slot_count - 1);
}

/* The first entry of this message, or a free slot. */
static struct links_send *links_find(const struct links_waiting *waiting,
                                     struct model_message message)
{
    size_t slot = home_of(waiting, message);

    while (waiting->slots[slot].message.digest != 0 &&
           !is_same_message(waiting->slots[slot].message, message))
        slot = slot_after(waiting, slot);
    return &waiting->slots[slot];
}

/* After all entries of the same message, which keeps their order. */
static void links_append(struct links_waiting *waiting, const struct links_send *send)
{
    size_t slot = home_of(waiting, send->message);

    while (waiting->slots[slot].message.digest != 0)
        slot = slot_after(waiting, slot);
    waiting->slots[slot] = *send;
    waiting->count++;
}

/* Moves the entries after the slot up, so that no search ends at a gap; keeps their order. */
static void links_remove(struct links_waiting *waiting, struct links_send *send)
{
    size_t hole = (size_t)(send - waiting->slots), slot = slot_after(waiting, hole);

    while (waiting->slots[slot].message.digest != 0) {
        size_t home = home_of(waiting, waiting->slots[slot].message);

        if (((slot - home) & (waiting->slot_count - 1)) >=
            ((slot - hole) & (waiting->slot_count - 1))) {
            waiting->slots[hole] = waiting->slots[slot];
            hole = slot;
        }
        slot = slot_after(waiting, slot);
    }
    waiting->slots[hole].message.digest = 0;
    waiting->count--;
}

/* Starts at a free slot, since entries of one message may wrap around the end. */
static void copy_all(struct links_waiting *to, const struct links_waiting *from)
{
    size_t slot = 0;

    while (from->slots[slot].message.digest != 0)
        slot++;
    for (size_t i = 0; i < from->slot_count; i++, slot = slot_after(from, slot)) {
        if (from->slots[slot].message.digest != 0)
            links_append(to, &from->slots[slot]);
    }
}

/* Keeps at least half of the slots free. */
static int reserve_links(struct links_waiting *waiting, struct error *error)
{
    struct links_waiting larger = {.slot_count = waiting->slot_count * 2};

    if (waiting->count * 2 < waiting->slot_count)
        return 0;
    if (larger.slot_count == 0)
        larger.slot_count = FIRST_SLOTS;
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (larger.slots == NULL)
        return error_memory(error, "links between spans");
    if (waiting->slots != NULL)
        copy_all(&larger, waiting);
    free(waiting->slots);
    *waiting = larger;
    return 0;
}

static struct links_send *find_in_both(struct links *links, struct model_message message,
                                       struct links_waiting **where)
{
    struct links_waiting *both[] = {&links->old, &links->young};

    for (size_t i = 0; i < 2 && message.digest != 0; i++) {
        struct links_send *send = both[i]->slots != NULL ? links_find(both[i], message) : NULL;

        if (send != NULL && send->message.digest != 0) {
            *where = both[i];
            return send;
        }
    }
    return NULL;
}

int links_send(struct links *links, struct model_message message, const struct link *send,
               struct error *error)
{
    struct links_send added = {message, *send};
    struct links_waiting *where;
    struct links_send *earlier;

    if (message.digest == 0)
        return 0;
    earlier = message.promised ? find_in_both(links, message, &where) : NULL;
    if (earlier != NULL)
        links_remove(where, earlier);
    if (links->young.count == WAITING_MOST) {
        free(links->old.slots);
        links->old = links->young;
        links->young = (struct links_waiting){0};
    }
    if (reserve_links(&links->young, error) != 0)
        return -1;
    links_append(&links->young, &added);
    return 0;
}

bool links_take(struct links *links, struct model_message message, struct link *send)
{
    struct links_waiting *where;
    struct links_send *found = find_in_both(links, message, &where);

    if (found == NULL)
        return false;
    *send = found->value;
    links_remove(where, found);
    return true;
}

/* The digests of settled promises and of messages differ. */
static int links_resolve(struct links *links, uint64_t promise, const struct link *resolve,
                         struct error *error)
{
    return links_send(links, (struct model_message){promise, true}, resolve, error);
}

bool links_resolved(struct links *links, uint64_t promise, struct link *resolve)
{
    struct links_waiting *where;
    struct links_send *found = find_in_both(links, (struct model_message){promise, true}, &where);

    if (found != NULL)
        *resolve = found->value;
    return found != NULL;
}

int links_add_event(struct links *links, const struct model_event *event, const struct link *link,
                    struct error *error)
{
    if (links_send(links, event->message, link, error) != 0)
        return -1;
    for (size_t i = 0; i < event->promise_count; i++) {
        if (links_resolve(links, event->promises[i], link, error) != 0)
            return -1;
    }
    return 0;
}

void links_free(struct links *links)
{
    free(links->old.slots);
    free(links->young.slots);
    *links = (struct links){0};
}

/* The words of a link. */
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

/* A delivery waited for the latest of its causes. */
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
    const struct link link = {{delivery->number, (uint64_t)moment, delivery->chain}};

    return links_add_event(&causes->links, event, &link, error);
}
