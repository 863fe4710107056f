/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/render.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json_text.h"

static void field(struct buf *out, const char *name)
{
    buf_append(out, ",\"", 2);
    buf_append_string(out, name);
    buf_append(out, "\":", 2);
}

static void field_string(struct buf *out, const char *name, const char *text)
{
    field(out, name);
    json_text_string(out, text, strlen(text));
}

static void field_bool(struct buf *out, const char *name, int truth)
{
    field(out, name);
    buf_append_string(out, truth < 0 ? "null" : truth ? "true" : "false");
}

static void field_integer(struct buf *out, const char *name, int64_t number)
{
    field(out, name);
    if (number == MODEL_NONE)
        buf_append_string(out, "null");
    else
        json_text_integer(out, number);
}

/* Seconds, with as many decimals as the clock had. */
static void field_time(struct buf *out, const char *name, int64_t nanoseconds, bool precise)
{
    field(out, name);
    if (nanoseconds == MODEL_NONE)
        buf_append_string(out, "null");
    else if (precise)
        json_text_nanoseconds(out, nanoseconds);
    else
        json_text_seconds(out, nanoseconds / 1000);
}

/* Whole numbers as such; what JavaScript wrote as a double beyond 2^53 likewise. */
static void field_double(struct buf *out, const char *name, double number)
{
    field(out, name);
    if (isnan(number))
        buf_append_string(out, "null");
    else if (fabs(number) < 0x1p53 && number == trunc(number))
        json_text_integer(out, (int64_t)number);
    else
        buf_printf(out, "%.17g", number);
}

/* Without its deliver line a delivery's requests were not counted. */
static void field_count(struct buf *out, const char *name, const struct model_delivery *delivery,
                        size_t count)
{
    field_integer(out, name, delivery->total == MODEL_NONE ? MODEL_NONE : (int64_t)count);
}

static void json_delivery(struct buf *out, const struct model_delivery *delivery)
{
    bool precise = delivery->precise;

    buf_append_string(out, "{\"kind\":\"delivery\"");
    field_string(out, "vatID", delivery->vat_id);
    field_integer(out, "crankNum", delivery->crank_num);
    field_integer(out, "deliveryNum", delivery->delivery_num);
    field_bool(out, "replay", delivery->replay);
    field_string(out, "description", delivery->description);
    field_string(out, "status", delivery->status == MODEL_OK ? "ok" : "error");
    field_time(out, "start", delivery->start, false);
    field_time(out, "total", delivery->total, precise);
    field_time(out, "pipe", delivery->pipe, precise);
    field_time(out, "worker", delivery->worker, precise);
    field_time(out, "kernel", delivery->kernel, precise);
    field_time(out, "unattributed", delivery->unattributed, precise);
    field_count(out, "syscalls", delivery, delivery->syscalls);
    field_count(out, "consoles", delivery, delivery->consoles);
    field_bool(out, "overrun", delivery->total == MODEL_NONE ? -1 : delivery->overrun);
    field_double(out, "compute", delivery->compute);
    field_double(out, "instructions", delivery->instructions);
    buf_append(out, "}\n", 2);
}

static const char *const note_names[] = {
    [MODEL_NOTE_KERNEL] = "kernel-start",
    [MODEL_NOTE_CLOCK] = "clock-change",
    [MODEL_NOTE_UNENDED] = "no-deliver-result",
    [MODEL_NOTE_UNSTARTED] = "no-deliver",
};

static void json_note(struct buf *out, const struct model_note *note)
{
    buf_append_string(out, "{\"kind\":\"note\"");
    field_string(out, "note", note_names[note->kind]);
    field_integer(out, "line", (int64_t)note->line);
    if (note->kind == MODEL_NOTE_CLOCK)
        field_time(out, "seconds", note->amount, false);
    if (note->kind == MODEL_NOTE_UNENDED || note->kind == MODEL_NOTE_UNSTARTED) {
        field_string(out, "vatID", note->vat_id);
        field_integer(out, "deliveryNum", note->delivery_num);
    }
    buf_append(out, "}\n", 2);
}

static void json_end(struct buf *out, const struct tally *tally, uint64_t deliveries)
{
    buf_append_string(out, "{\"kind\":\"summary\"");
    field_integer(out, "lines", (int64_t)tally->lines);
    field_integer(out, "badLines", (int64_t)tally->bad_lines);
    field_integer(out, "tornLines", (int64_t)tally->torn_lines);
    field_integer(out, "deliveries", (int64_t)deliveries);
    field_integer(out, "kernelStarts", (int64_t)tally->kernels);
    field_integer(out, "clockChanges", (int64_t)tally->clock_changes);
    field_integer(out, "withoutResult", (int64_t)tally->unended);
    field_integer(out, "withoutDeliver", (int64_t)tally->unstarted);
    buf_append(out, "}\n", 2);
}

const struct render_ops render_json = {
    .delivery = json_delivery, .note = json_note, .end = json_end};
