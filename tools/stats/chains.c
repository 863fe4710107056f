/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/chains.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"

static struct chain *chain_of(struct chains *chains, uint64_t number)
{
    struct chain *array;

    if (number <= chains->count)
        return &chains->chains[number - 1];
    array = array_reserve(chains->chains, &chains->capacity, number, sizeof *array);
    if (array == NULL)
        return NULL;
    chains->chains = array;
    memset(array + chains->count, 0, (number - chains->count) * sizeof *array);
    chains->count = number;
    return &array[number - 1];
}

void chains_add_inbound(struct chains *chains, const struct model_inbound *inbound)
{
    struct chain *chain = chain_of(chains, inbound->chain);
    struct buf words = {0};

    if (chain == NULL) {
        chains->failed = true;
        return;
    }
    buf_append(&words, inbound->type, strlen(inbound->type) + 1);
    buf_append(&words, inbound->number, strlen(inbound->number) + 1);
    buf_append(&words, inbound->source, strlen(inbound->source) + 1);
    chains->failed |= buf_failed(&words);
    chain->inbound = words.data;
    chain->number = inbound->chain;
    chain->block_height = inbound->block_height;
    chain->start = chain->end = inbound->time;
}

static int find_names(struct chains *chains, const struct model_delivery *delivery,
                      struct chain_link *link)
{
    struct buf key = {0};

    buf_append(&key, delivery->vat_id, strlen(delivery->vat_id) + 1);
    buf_append_string(&key, delivery->vat_name);
    link->vat = buf_failed(&key) ? NAMES_NONE : names_intern(&chains->vats, key.data, key.length);
    buf_clear(&key);
    buf_printf(&key, "%s%s%s", delivery->kind, delivery->method[0] != '\0' ? " " : "",
               delivery->method);
    link->kind = buf_failed(&key) ? NAMES_NONE : names_intern(&chains->kinds, key.data, key.length);
    buf_free(&key);
    return link->vat == NAMES_NONE || link->kind == NAMES_NONE ? -1 : 0;
}

/* Numbers of deliveries whose deliver line is not there are left empty. */
static struct chain_link *link_of(struct chains *chains, uint64_t number)
{
    struct chain_link *links =
        array_reserve(chains->links, &chains->link_capacity, number, sizeof *links);

    if (links == NULL)
        return NULL;
    chains->links = links;
    while (chains->link_count < number)
        links[chains->link_count++] = (struct chain_link){.start = MODEL_NONE};
    return &links[number - 1];
}

static void chains_add_number(double *sum, double number)
{
    if (isfinite(number) && *sum + number < 0x1p63)
        *sum += number;
}

static void add_to_chain(struct chain *chain, const struct model_delivery *delivery)
{
    int64_t end;

    if (chain->number == 0) {
        chain->number = delivery->chain;
        chain->block_height = delivery->block_height;
        chain->start = chain->end = delivery->start;
    }
    if (chain->deliveries++ == 0)
        chain->first = chain->last = delivery->number;
    if (delivery->total > 0 && !__builtin_add_overflow(delivery->start, delivery->total, &end)) {
        if (end >= chain->end)
            chain->last = delivery->number;
        chain->end = end > chain->end ? end : chain->end;
        __builtin_add_overflow(chain->total, delivery->total, &chain->total);
    }
    if (delivery->queued > 0) {
        __builtin_add_overflow(chain->queued, delivery->queued, &chain->queued);
        if (delivery->queued > chain->most_queued)
            chain->most_queued = delivery->queued;
    }
    chains_add_number(&chain->compute, delivery->compute);
    chains_add_number(&chain->instructions, delivery->instructions);
}

int chains_add(struct chains *chains, const struct model_delivery *delivery, bool wanted,
               struct error *error)
{
    struct chain_link *link;
    struct chain *chain;

    if (delivery->number == 0 || delivery->chain == 0)
        return 0;
    link = link_of(chains, delivery->number);
    chain = chain_of(chains, delivery->chain);
    if (link == NULL || chain == NULL || find_names(chains, delivery, link) != 0 || chains->failed)
        return error_memory(error, "runs");
    link->cause = delivery->cause;
    link->chain = delivery->chain;
    link->start = delivery->start;
    link->total = delivery->total;
    link->queued = delivery->queued;
    link->crank_num = delivery->crank_num;
    link->delivery_num = delivery->delivery_num;
    add_to_chain(chain, delivery);
    chain->wanted |= wanted;
    return 0;
}

const struct chain_link *chains_cause(const struct chains *chains, const struct chain_link *link)
{
    return link->cause == 0 || link->cause > chains->link_count ? NULL
                                                                : &chains->links[link->cause - 1];
}

size_t chains_vats(const struct chains *chains, const struct chain *chain)
{
    bool *seen = calloc(chains->vats.count + 1, sizeof *seen);
    size_t count = 0;

    for (size_t i = chain->first; seen != NULL && i <= chains->link_count; i++) {
        const struct chain_link *link = &chains->links[i - 1];

        if (link->chain != chain->number || link->start == MODEL_NONE || seen[link->vat])
            continue;
        seen[link->vat] = true;
        count++;
    }
    free(seen);
    return count;
}

void chains_free(struct chains *chains)
{
    for (size_t i = 0; i < chains->count; i++)
        free(chains->chains[i].inbound);
    free(chains->chains);
    free(chains->links);
    names_free(&chains->vats);
    names_free(&chains->kinds);
    *chains = (struct chains){0};
}
