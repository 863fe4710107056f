/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/runs_render.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/json_text.h"
#include "tools/output/units.h"

enum { WAY_LONGEST = 100 };

/* The way to the delivery that ended last, from its beginning on. */
struct way {
    const struct chain_link *links[WAY_LONGEST];
    size_t count;
};

static struct way find_way(const struct chains *chains, const struct chain *chain)
{
    const struct chain_link *link = chain->last == 0 ? NULL : &chains->links[chain->last - 1];
    struct way back = {.count = 0}, way = {.count = 0};

    /* A cause has a smaller number than what it caused, so this ends. */
    while (link != NULL && back.count < WAY_LONGEST) {
        back.links[back.count++] = link;
        link = chains_cause(chains, link);
    }
    for (size_t i = back.count; i > 0; i--)
        way.links[way.count++] = back.links[i - 1];
    return way;
}

/* The word number `which` of those that are each ended by '\0'. */
static const char *word_of(const char *words, int which)
{
    for (; words != NULL && which > 0; which--)
        words += strlen(words) + 1;
    return words != NULL ? words : "";
}

/* ---- text ---- */

static void runs_render_append_time(struct buf *out, int64_t time)
{
    char text[UNITS_SIZE];

    units_time(text, time > 0 ? (uint64_t)time : 0);
    buf_append_string(out, text);
}

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
    runs_render_append_time(out, chain->end - chain->start);
    buf_printf(out, ": %" PRIu64 " %s, vats: %zu; in them ", chain->deliveries,
               chain->deliveries == 1 ? "delivery" : "deliveries", chains_vats(chains, chain));
    runs_render_append_time(out, chain->total);
    buf_append_string(out, "; the longest wait was ");
    runs_render_append_time(out, chain->most_queued);
    if (chain->compute > 0) {
        units_count(text, (uint64_t)chain->compute);
        buf_printf(out, "; %s computrons", text);
    }
    buf_append_byte(out, '\n');
}

void runs_render_text(struct buf *out, const struct chains *chains, const struct chain *chain)
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

static void append_string(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    if (text[0] == '\0')
        buf_append_string(out, "null");
    else
        json_text_string(out, text, strlen(text));
}

static void append_integer(struct buf *out, const char *name, int64_t number)
{
    buf_printf(out, ",\"%s\":", name);
    if (number == MODEL_NONE)
        buf_append_string(out, "null");
    else
        json_text_integer(out, number);
}

static void append_seconds(struct buf *out, const char *name, int64_t time)
{
    buf_printf(out, ",\"%s\":", name);
    if (time == MODEL_NONE)
        buf_append_string(out, "null");
    else
        json_text_nanoseconds(out, time);
}

static void append_link(struct buf *out, const struct chains *chains, const struct chain_link *link)
{
    const char *vat = names_text(&chains->vats, link->vat);

    buf_printf(out, "{\"number\":%" PRIu64, (uint64_t)(link - chains->links) + 1);
    append_string(out, "vatID", vat);
    append_string(out, "vat", vat + strlen(vat) + 1);
    append_string(out, "what", names_text(&chains->kinds, link->kind));
    append_integer(out, "crankNum", link->crank_num);
    append_integer(out, "deliveryNum", link->delivery_num);
    append_seconds(out, "start", link->start);
    append_seconds(out, "queued", link->queued);
    append_seconds(out, "total", link->total);
    buf_append_byte(out, '}');
}

void runs_render_json(struct buf *out, const struct chains *chains, const struct chain *chain)
{
    struct way way = find_way(chains, chain);

    buf_printf(out, "{\"kind\":\"run\",\"chain\":%" PRIu64, chain->number);
    append_string(out, "inbound", word_of(chain->inbound, 0));
    append_string(out, "inboundNum", word_of(chain->inbound, 1));
    append_string(out, "source", word_of(chain->inbound, 2));
    append_integer(out, "blockHeight", chain->block_height);
    append_seconds(out, "start", chain->start);
    append_seconds(out, "length", chain->end - chain->start);
    append_integer(out, "deliveries", (int64_t)chain->deliveries);
    append_integer(out, "vats", (int64_t)chains_vats(chains, chain));
    append_seconds(out, "total", chain->total);
    append_seconds(out, "queued", chain->queued);
    append_seconds(out, "mostQueued", chain->most_queued);
    buf_printf(out, ",\"compute\":%.0f,\"instructions\":%.0f,\"way\":[", chain->compute,
               chain->instructions);
    for (size_t i = 0; i < way.count; i++) {
        if (i > 0)
            buf_append_byte(out, ',');
        append_link(out, chains, way.links[i]);
    }
    buf_append_string(out, "]}\n");
}
