/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/output/replay_note.h"

#include <inttypes.h>
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

void replay_note_delivery(struct replay_notes *notes, struct replay_result *result,
                          const struct replay_note_delivery *delivery)
{
    const struct recorded_result *recorded = delivery->recorded;
    const struct meter *meter = delivery->meter;
    struct buf *out = &notes->lines;
    const char *description = buf_string(&result->description);

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
    buf_append_string(out, "}\n");
}
