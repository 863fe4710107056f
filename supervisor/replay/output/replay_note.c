/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/output/replay_note.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json/json_text.h"
#include "base/json/json_value.h"

enum { SIDE_SHOWN = 120 };

static const char *replay_note_text_of(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));

    return text != NULL ? text : "none";
}

void replay_note_put_text(struct buf *out, const json_t *line)
{
    buf_printf(
        out, "%s %s: delivery %" PRIi64 ", %s: tolerated: %s, recorded %.*s, replayed %.*s\n",
        replay_note_text_of(line, "vatID"), replay_note_text_of(line, "vat"),
        (int64_t)json_integer_value(json_object_get(line, "deliveryNum")),
        replay_note_text_of(line, "description"), replay_note_text_of(line, "aspect"), SIDE_SHOWN,
        replay_note_text_of(line, "recorded"), SIDE_SHOWN, replay_note_text_of(line, "replayed"));
}

void replay_note_tolerated(struct replay_notes *notes, struct replay_result *result,
                           const struct difference *difference)
{
    struct buf line = {0};
    json_t *json;

    result->counts.tolerated++;
    replay_result_put_difference(notes->json ? &notes->lines : &line, "tolerated", result,
                                 difference);
    if (notes->json)
        return;
    json = json_value_read(line.data, line.length, JSON_ALLOW_NUL, NULL);
    replay_note_put_text(&notes->lines, json);
    json_decref(json);
    buf_free(&line);
}

static void replay_note_put_number(struct buf *out, const char *name, bool known, int64_t number)
{
    buf_printf(out, ",\"%s\":", name);
    if (known)
        json_text_integer(out, number);
    else
        buf_append_string(out, "null");
}

/* What was not measured is not known, and what it may cost neither. */
static double price(const struct gas_model *gas, const struct replay_note_delivery *delivery)
{
    const struct meter *meter = delivery->meter;
    const bool counted = meter != NULL && meter->counted;
    const struct gas_usage usage = {
        .computrons = meter != NULL ? (double)meter->compute : (double)NAN,
        .instructions = counted ? (double)meter->instructions : (double)NAN,
        .bytes_read = counted ? (double)meter->bytes_read : (double)NAN,
        .bytes_written = counted ? (double)meter->bytes_written : (double)NAN,
        .syscalls = (double)delivery->syscalls,
        .block_cost = meter != NULL && meter->cost_known ? (double)meter->block_cost : (double)NAN,
    };

    return gas != NULL ? gas_model_price_delivery(gas, &usage) : (double)NAN;
}

static void add_price(struct replay_counts *counts, double gas)
{
    if (!(gas < 0x1p63))
        return;
    counts->priced++;
    if (__builtin_add_overflow(counts->gas, (int64_t)gas, &counts->gas))
        counts->gas = INT64_MAX;
}

void replay_note_delivery(struct replay_notes *notes, struct replay_result *result,
                          const struct replay_note_delivery *delivery)
{
    const struct recorded_result *recorded = delivery->recorded;
    const struct meter *meter = delivery->meter;
    struct buf *out = &notes->lines;
    const char *description = buf_string(&result->description);
    const double gas = price(notes->gas, delivery);

    add_price(&result->counts, gas);
    if (!notes->json || !notes->deliveries)
        return;
    buf_append_string(out, "{\"kind\":\"delivery\",\"vatID\":");
    json_text_string(out, result->id, strlen(result->id));
    buf_append_string(out, ",\"vat\":");
    json_text_string(out, result->name, strlen(result->name));
    buf_printf(out, ",\"deliveryNum\":%" PRId64 ",\"description\":", result->delivery_num);
    json_text_string(out, description, description != NULL ? strlen(description) : 0);
    buf_printf(out, ",\"status\":\"%s\",\"syscalls\":%zu", delivery->status, delivery->syscalls);
    replay_note_put_number(out, "compute", meter != NULL,
                           meter != NULL ? (int64_t)meter->compute : 0);
    replay_note_put_number(out, "instructions", meter != NULL && meter->counted,
                           meter != NULL ? (int64_t)meter->instructions : 0);
    replay_note_put_number(out, "allocate", meter != NULL,
                           meter != NULL ? (int64_t)meter->allocate : 0);
    replay_note_put_number(out, "recordedCompute", recorded->compute != RECORDED_NONE,
                           recorded->compute);
    replay_note_put_number(out, "recordedInstructions", recorded->instructions != RECORDED_NONE,
                           recorded->instructions);
    if (meter != NULL && meter->cost_known)
        buf_printf(out, ",\"blockCost\":%" PRIu64, meter->block_cost);
    if (notes->gas != NULL)
        replay_note_put_number(out, "gas", gas < 0x1p63, gas < 0x1p63 ? (int64_t)gas : 0);
    buf_append_string(out, "}\n");
}
