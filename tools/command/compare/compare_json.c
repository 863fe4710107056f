/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/compare/compare_render.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json/json_text.h"
#include "tools/output/output.h"

static void field_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    json_text_string(out, text, strlen(text));
}

static void field_time(struct buf *out, const char *name, int64_t nanoseconds)
{
    buf_printf(out, ",\"%s\":", name);
    if (nanoseconds == MODEL_NONE)
        buf_append_string(out, "null");
    else
        json_text_nanoseconds(out, nanoseconds);
}

static void field_double(struct buf *out, const char *name, double number)
{
    if (isnan(number))
        buf_printf(out, ",\"%s\":null", name);
    else
        buf_printf(out, ",\"%s\":%.17g", name, number);
}

static void append_side(struct buf *out, const char *name, const struct pair_side *side)
{
    buf_printf(out, ",\"%s\":", name);
    if (!side->present) {
        buf_append_string(out, "null");
        return;
    }
    buf_printf(out, "{\"status\":\"%s\",\"syscalls\":%zu", side->ok ? "ok" : "error",
               side->syscalls);
    for (int part = 0; part < PAIR_PARTS; part++)
        field_time(out, pair_part_name((enum pair_part)part), side->parts[part]);
    field_double(out, "compute", side->compute);
    field_double(out, "instructions", side->instructions);
    if (!isnan(side->block_cost))
        field_double(out, "blockCost", side->block_cost);
    buf_append_byte(out, '}');
}

static void append_differences(struct buf *out, unsigned differences)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{PAIR_INPUT, "input"},
                 {PAIR_RESULT, "result"},
                 {PAIR_SYSCALLS, "syscalls"},
                 {PAIR_COMPUTE, "compute"},
                 {PAIR_INSTRUCTIONS, "instructions"},
                 {PAIR_BLOCK_COST, "blockCost"}};
    const char *separator = "";

    buf_append_string(out, ",\"differs\":[");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((differences & names[i].bit) == 0)
            continue;
        buf_printf(out, "%s\"%s\"", separator, names[i].name);
        separator = ",";
    }
    buf_append_byte(out, ']');
}

static void append_pair(struct buf *out, const struct pairs *pairs, const struct pair *pair)
{
    double ratio = pair_ratio(pair);
    bool timed = !isnan(ratio);

    buf_append_string(out, "{\"kind\":\"pair\"");
    field_text(out, "vatID", pair->vat_id);
    buf_printf(out, ",\"deliveryNum\":%" PRId64, pair->delivery_num);
    field_text(out, "description", pair->description);
    append_differences(out, pair->differences);
    field_double(out, "ratio", ratio);
    field_time(out, "excess", timed ? pair_excess(pairs, pair) : MODEL_NONE);
    buf_printf(out, ",\"slower\":%s", pair_is_slower(pairs, pair) ? "true" : "false");
    if (timed)
        field_text(out, "where", pair_part_name(pair_where(pairs, pair)));
    else
        buf_append_string(out, ",\"where\":null");
    append_side(out, "a", &pair->sides[0]);
    append_side(out, "b", &pair->sides[1]);
    buf_append(out, "}\n", 2);
}

static void append_usual(struct buf *out, const char *name, const struct pair_usual *usual)
{
    buf_printf(out, ",\"%s\":{\"count\":%zu", name, usual->count);
    field_time(out, "a", usual->sums[0]);
    field_time(out, "b", usual->sums[1]);
    buf_printf(out, ",\"ratio\":%.6f,\"spread\":%.6f}", usual->ratio, usual->spread);
}

static void append_ranking(struct buf *out, const struct ranking *ranking)
{
    static const char *const names[RANKING_QUANTILES] = {
        [RANKING_LEAST] = "least", [RANKING_TENTH] = "p10",       [RANKING_HALF] = "p50",
        [RANKING_NINETY] = "p90",  [RANKING_NINETY_NINE] = "p99", [RANKING_MOST] = "most",
    };

    if (ranking->count == 0)
        return;
    buf_append_string(out, ",\"ratios\":{");
    for (int i = 0; i < RANKING_QUANTILES; i++)
        buf_printf(out, "%s\"%s\":%.6f", i > 0 ? "," : "", names[i], ranking->ratios[i]);
    buf_printf(out,
               "},\"ranking\":{\"correlation\":%.6f,\"top\":%zu,\"kept\":%zu,"
               "\"largestPartChanged\":%zu}",
               ranking->correlation, ranking->top, ranking->kept, ranking->largest_part_changed);
}

int compare_json(struct buf *out, const struct comparison *comparison, struct error *error)
{
    const struct pairs *pairs = comparison->pairs;

    for (size_t i = 0; i < pairs->count; i++) {
        struct pair pair = pairs_get(pairs, i);

        append_pair(out, pairs, &pair);
        if (output_flush_if_much(out, error) != 0)
            return -1;
    }
    buf_append_string(out, "{\"kind\":\"comparison\"");
    field_text(out, "a", comparison->names[0]);
    field_text(out, "b", comparison->names[1]);
    buf_printf(out,
               ",\"both\":%zu,\"onlyA\":%zu,\"onlyB\":%zu,\"diverging\":%zu,"
               "\"instructionsDiffer\":%zu,\"slower\":%zu",
               pairs->both, pairs->only[0], pairs->only[1], comparison->diverging_count,
               comparison->instructions_differ, comparison->slower_count);
    for (int part = 0; part < PAIR_PARTS; part++)
        append_usual(out, pair_part_name((enum pair_part)part), &pairs->usual[part]);
    append_ranking(out, &comparison->ranking);
    buf_append(out, "}\n", 2);
    return 0;
}
