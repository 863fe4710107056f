/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json_member.h"
#include "base/log.h"
#include "base/text/format.h"
#include "slog/model/model.h"
#include "slog/read/names.h"
#include "tools/command/commands.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"

struct chain {
    uint64_t number; /* from 1; 0: unused */
    bool wanted;     /* one of its deliveries is selected */
    char *inbound;   /* type, '\0', inboundNum, '\0', source; owned; NULL if not known */
    int64_t block_height;
    int64_t start, end; /* since the epoch: from the event to the end of the last delivery */
    uint64_t deliveries;
    uint64_t first, last; /* deliveries: the first, and the one that ended last */
    int64_t total;        /* of its deliveries */
    int64_t queued, most_queued;
    double compute, instructions; /* sums of known numbers */
};

/* A delivery of a chain. Times are nanoseconds, MODEL_NONE if not known. */
struct chain_link {
    uint64_t cause; /* number of the delivery that caused it; 0: not known */
    uint64_t chain;
    int64_t start, total, queued;
    int64_t crank_num, delivery_num;
    uint32_t vat;  /* in vats: its id, '\0', its name */
    uint32_t kind; /* in kinds: "message transfer" */
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

/* Deliveries by chain (slog/model/causes.h). Each delivery takes 72 bytes, each chain about 150. */

static struct chain *chains_find(struct chains *chains, uint64_t number)
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

/*
 * Adds the event that begins a chain. Failure shows in `failed`, and when the next delivery is
 * added.
 */
static void chains_add_inbound(struct chains *chains, const struct model_inbound *inbound)
{
    struct chain *chain = chains_find(chains, inbound->chain);
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

static int chains_find_names(struct chains *chains, const struct model_delivery *delivery,
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

/* Numbers of deliveries without a deliver line stay empty. */
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

/* Adds a delivery (with labels). -1 when out of memory. */
static int chains_add(struct chains *chains, const struct model_delivery *delivery, bool wanted,
                      struct error *error)
{
    struct chain_link *link;
    struct chain *chain;

    if (delivery->number == 0 || delivery->chain == 0)
        return 0;
    link = link_of(chains, delivery->number);
    chain = chains_find(chains, delivery->chain);
    if (link == NULL || chain == NULL || chains_find_names(chains, delivery, link) != 0 ||
        chains->failed)
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

/* The delivery that caused this one; NULL if not known. */
static const struct chain_link *chains_cause(const struct chains *chains,
                                             const struct chain_link *link)
{
    return link->cause == 0 || link->cause > chains->link_count ? NULL
                                                                : &chains->links[link->cause - 1];
}

/* How many vats took part; 0 also when out of memory. */
static size_t chains_vats(const struct chains *chains, const struct chain *chain)
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

static void chains_free(struct chains *chains)
{
    for (size_t i = 0; i < chains->count; i++)
        free(chains->chains[i].inbound);
    free(chains->chains);
    free(chains->links);
    names_free(&chains->vats);
    names_free(&chains->kinds);
    *chains = (struct chains){0};
}

enum { WAY_LONGEST = 100 };

/* The path to the delivery that ended last, from its beginning. */
struct way {
    const struct chain_link *links[WAY_LONGEST];
    size_t count;
};

static struct way find_way(const struct chains *chains, const struct chain *chain)
{
    const struct chain_link *link = chain->last == 0 ? NULL : &chains->links[chain->last - 1];
    struct way back = {.count = 0}, way = {.count = 0};

    /* Causes have smaller numbers, so this ends. */
    while (link != NULL && back.count < WAY_LONGEST) {
        back.links[back.count++] = link;
        link = chains_cause(chains, link);
    }
    for (size_t i = back.count; i > 0; i--)
        way.links[way.count++] = back.links[i - 1];
    return way;
}

/* The word number `which` of words with a '\0' each. */
static const char *word_of(const char *words, int which)
{
    for (; words != NULL && which > 0; which--)
        words += strlen(words) + 1;
    return words != NULL ? words : "";
}

/* ---- text ---- */

static void append_padded_time(struct buf *out, int64_t time)
{
    char text[UNITS_SIZE] = "";

    if (time != MODEL_NONE)
        units_time(text, time > 0 ? (uint64_t)time : 0);
    units_pad(out, text, 11);
}

static void append_heading(struct buf *out, const struct chain *chain)
{
    const char *number = word_of(chain->inbound, 1), *source = word_of(chain->inbound, 2);

    buf_printf(out, "run %" PRIu64, chain->number);
    if (chain->inbound != NULL)
        buf_printf(out, ": %s%s%s", chain->inbound, number[0] != '\0' ? " " : "", number);
    if (source[0] != '\0')
        buf_printf(out, " from %s", source);
    if (chain->block_height != MODEL_NONE)
        buf_printf(out, ", block %" PRId64, chain->block_height);
    buf_append_byte(out, '\n');
}

static void append_sums(struct buf *out, const struct chains *chains, const struct chain *chain)
{
    char text[UNITS_SIZE];

    buf_append_string(out, "   ended after ");
    units_pad_time(out, chain->end - chain->start, 0);
    buf_printf(out, ": %" PRIu64 " %s, vats: %zu; in them ", chain->deliveries,
               chain->deliveries == 1 ? "delivery" : "deliveries", chains_vats(chains, chain));
    units_pad_time(out, chain->total, 0);
    buf_append_string(out, "; the longest wait was ");
    units_pad_time(out, chain->most_queued, 0);
    if (chain->compute > 0) {
        units_count(text, (uint64_t)chain->compute);
        buf_printf(out, "; %s computrons", text);
    }
    buf_append_byte(out, '\n');
}

/* Prints a run, its sums, and the path to the delivery that ended last; of a long path, its end. */
static void runs_render_text(struct buf *out, const struct chains *chains,
                             const struct chain *chain)
{
    struct way way = find_way(chains, chain);

    append_heading(out, chain);
    append_sums(out, chains, chain);
    buf_append_string(out, "         at     waited       took  the way to what ended last\n");
    for (size_t i = 0; i < way.count; i++) {
        const struct chain_link *link = way.links[i];
        const char *vat = names_text(&chains->vats, link->vat);
        const char *name = vat + strlen(vat) + 1;

        append_padded_time(out, link->start - chain->start);
        append_padded_time(out, link->queued);
        append_padded_time(out, link->total);
        buf_append_string(out, "  ");
        if (link->crank_num != MODEL_NONE)
            buf_printf(out, "c%" PRId64 " ", link->crank_num);
        buf_printf(out, "%s%s%s%s %s\n", vat, name[0] != '\0' ? " (" : "", name,
                   name[0] != '\0' ? ")" : "", names_text(&chains->kinds, link->kind));
    }
}

/* ---- JSON ---- */

static void append_chain_link(struct buf *out, const struct chains *chains,
                              const struct chain_link *link)
{
    const char *vat = names_text(&chains->vats, link->vat);

    buf_printf(out, "{\"number\":%" PRIu64, (uint64_t)(link - chains->links) + 1);
    json_member_text_or_null(out, "vatID", vat);
    json_member_text_or_null(out, "vat", vat + strlen(vat) + 1);
    json_member_text_or_null(out, "what", names_text(&chains->kinds, link->kind));
    json_member_integer(out, "crankNum", link->crank_num);
    json_member_integer(out, "deliveryNum", link->delivery_num);
    json_member_seconds(out, "start", link->start);
    json_member_seconds(out, "queued", link->queued);
    json_member_seconds(out, "total", link->total);
    buf_append_byte(out, '}');
}

static void runs_render_json(struct buf *out, const struct chains *chains,
                             const struct chain *chain)
{
    struct way way = find_way(chains, chain);

    buf_printf(out, "{\"kind\":\"run\",\"chain\":%" PRIu64, chain->number);
    json_member_text_or_null(out, "inbound", word_of(chain->inbound, 0));
    json_member_text_or_null(out, "inboundNum", word_of(chain->inbound, 1));
    json_member_text_or_null(out, "source", word_of(chain->inbound, 2));
    json_member_integer(out, "blockHeight", chain->block_height);
    json_member_seconds(out, "start", chain->start);
    json_member_seconds(out, "length", chain->end - chain->start);
    json_member_integer(out, "deliveries", (int64_t)chain->deliveries);
    json_member_integer(out, "vats", (int64_t)chains_vats(chains, chain));
    json_member_seconds(out, "total", chain->total);
    json_member_seconds(out, "queued", chain->queued);
    json_member_seconds(out, "mostQueued", chain->most_queued);
    buf_printf(out, ",\"compute\":%.0f,\"instructions\":%.0f,\"way\":[", chain->compute,
               chain->instructions);
    for (size_t i = 0; i < way.count; i++) {
        if (i > 0)
            buf_append_byte(out, ',');
        append_chain_link(out, chains, way.links[i]);
    }
    buf_append_string(out, "]}\n");
}

enum { SHOWN = 20 };

struct runs_report {
    const struct options *options;
    struct chains chains;
    uint64_t chosen; /* deliveries */
};

static int runs_on_delivery(void *context, const struct model_delivery *delivery,
                            struct error *error)
{
    struct runs_report *runs = context;
    bool wanted = selection_takes(&runs->options->selection, delivery);

    runs->chosen += wanted;
    return chains_add(&runs->chains, delivery, wanted, error);
}

static void runs_on_inbound(void *context, const struct model_inbound *inbound)
{
    chains_add_inbound(&((struct runs_report *)context)->chains, inbound);
}

/* The longest first; equals in order of their beginning. */
static int compare_chains(const void *a, const void *b)
{
    const struct chain *left = *(const struct chain *const *)a;
    const struct chain *right = *(const struct chain *const *)b;
    int64_t left_span = left->end - left->start, right_span = right->end - right->start;

    if (left_span != right_span)
        return left_span > right_span ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* The chains with a selected delivery, sorted; NULL when out of memory. */
static const struct chain **sort_chains(const struct chains *chains, size_t *count)
{
    const struct chain **sorted = calloc(chains->count + 1, sizeof(struct chain *));

    *count = 0;
    for (size_t i = 0; sorted != NULL && i < chains->count; i++) {
        if (chains->chains[i].wanted)
            sorted[(*count)++] = &chains->chains[i];
    }
    if (sorted != NULL)
        qsort(sorted, *count, sizeof(struct chain *), compare_chains);
    return sorted;
}

static int write_runs(const struct runs_report *runs, struct error *error)
{
    const struct options *options = runs->options;
    size_t count, most = options->top > 0 ? options->top : SHOWN;
    const struct chain **sorted = sort_chains(&runs->chains, &count);
    struct buf out = {0};
    int result = 0;

    if (sorted == NULL)
        return error_memory(error, "runs");
    for (size_t i = 0; i < count && i < most && result == 0; i++) {
        if (options->json)
            runs_render_json(&out, &runs->chains, sorted[i]);
        else
            runs_render_text(&out, &runs->chains, sorted[i]);
        result = output_flush_if_much(&out, error);
    }
    if (!options->json && count > most)
        buf_printf(&out, "%zu more %s took less; --top %zu shows all\n", count - most,
                   format_plural(count - most, "run", "runs"), count);
    if (result == 0)
        result = output_flush(&out, error);
    buf_free(&out);
    free(sorted);
    return result;
}

int runs_run(const struct options *options, struct error *error)
{
    struct runs_report runs = {.options = options};
    struct feed feed = options_feed(options);
    struct tally tally;
    int result;

    feed.labels = true;
    feed.sink = (struct model_sink){
        .delivery = runs_on_delivery, .inbound = runs_on_inbound, .context = &runs};
    result = feed_run(&feed, &tally, error);
    if (result == 0 && runs.chains.failed)
        result = error_memory(error, "runs");
    if (result == 0)
        result = write_runs(&runs, error);
    if (result == 0)
        selection_explain(&options->selection, runs.chosen, tally.totals.deliveries);
    tally_free(&tally);
    chains_free(&runs.chains);
    return result;
}
