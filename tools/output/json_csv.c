/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json/json_text.h"
#include "tools/output/output.h"

/*
 * Reserves space once for many fields and then writes them one after the other, since a report has
 * a line for each delivery.
 */

/* Longer than any name with its '\0' and any number. */
enum { FIELD_MAX = 32 + JSON_TEXT_NUMBER_MAX };

/* Reserves space for `fields` fields; NULL when out of memory, which the buffer remembers. */
static char *begin_fields(struct buf *out, size_t fields)
{
    return buf_reserve(out, fields * FIELD_MAX) == 0 ? out->data + out->length : NULL;
}

static void end_fields(struct buf *out, const char *at)
{
    out->length = (size_t)(at - out->data);
}

/* Inlined, so that the length of a literal is known and it is copied by a few moves. */
#define PUT static inline __attribute__((always_inline)) char *

PUT put(char *at, const char *text)
{
    return stpcpy(at, text);
}

/* `name` as the text `,"name":`. */
PUT put_bool(char *at, const char *name, int truth)
{
    at = put(at, name);
    return truth < 0 ? put(at, "null") : truth ? put(at, "true") : put(at, "false");
}

PUT put_json_integer(char *at, const char *name, int64_t number)
{
    at = put(at, name);
    return number == MODEL_NONE ? put(at, "null") : json_text_put_integer(at, number);
}

/* Seconds, with the decimals of the clock. */
PUT put_json_time(char *at, const char *name, int64_t nanoseconds, bool precise)
{
    at = put(at, name);
    if (nanoseconds == MODEL_NONE)
        return put(at, "null");
    return precise ? json_text_put_nanoseconds(at, nanoseconds)
                   : json_text_put_seconds(at, nanoseconds / 1000);
}

/* Whole numbers as integers, also those over 2^53 that JavaScript wrote as doubles. */
static char *put_double(char *at, double number)
{
    if (isnan(number))
        return put(at, "null");
    if (fabs(number) < 0x1p53 && number == trunc(number))
        return json_text_put_integer(at, (int64_t)number);
    return at + snprintf(at, JSON_TEXT_NUMBER_MAX + 8, "%.17g", number);
}

static void append_string(struct buf *out, const char *name, const char *text)
{
    buf_append_string(out, name);
    json_text_string(out, text, strlen(text));
}

static void json_append_numbers(struct buf *out, const struct model_delivery *delivery)
{
    char *at = begin_fields(out, 3);

    if (at == NULL)
        return;
    at = put_json_integer(at, ",\"crankNum\":", delivery->crank_num);
    at = put_json_integer(at, ",\"deliveryNum\":", delivery->delivery_num);
    end_fields(out, put_bool(at, ",\"replay\":", delivery->replay));
}

/* Requests of a delivery without a deliver line were not counted. */
static char *put_requests(char *at, const struct model_delivery *delivery)
{
    bool counted = delivery->total != MODEL_NONE;

    at = put_json_integer(at, ",\"syscalls\":", counted ? (int64_t)delivery->syscalls : MODEL_NONE);
    at = put_json_integer(at, ",\"consoles\":", counted ? (int64_t)delivery->consoles : MODEL_NONE);
    return put_bool(at, ",\"overrun\":", counted ? delivery->overrun : -1);
}

static void append_times(struct buf *out, const struct model_delivery *delivery)
{
    bool precise = delivery->precise;
    char *at = begin_fields(out, 18);

    if (at == NULL)
        return;
    at = put(at, ",\"status\":");
    at = delivery->status == MODEL_OK ? put(at, "\"ok\"") : put(at, "\"error\"");
    at = put_json_time(at, ",\"start\":", delivery->start, false);
    at = put_json_time(at, ",\"total\":", delivery->total, precise);
    at = put_json_time(at, ",\"pipe\":", delivery->pipe, precise);
    at = put_json_time(at, ",\"worker\":", delivery->worker, precise);
    at = put_json_time(at, ",\"kernel\":", delivery->kernel, precise);
    at = put_json_time(at, ",\"unattributed\":", delivery->unattributed, precise);
    at = put_requests(at, delivery);
    at = put_double(put(at, ",\"compute\":"), delivery->compute);
    at = put_double(put(at, ",\"instructions\":"), delivery->instructions);
    if (delivery->client_pipe != 0) {
        at = put_json_time(at, ",\"slogPipe\":", delivery->slog_pipe, precise);
        at = put_json_time(at, ",\"clientPipe\":", delivery->client_pipe, true);
    }
    if (delivery->cpu_wait != MODEL_NONE)
        at = put_json_time(at, ",\"cpuWait\":", delivery->cpu_wait, true);
    if (delivery->worker_cpu_wait != MODEL_NONE)
        at = put_json_time(at, ",\"workerCpuWait\":", delivery->worker_cpu_wait, true);
    if (!isnan(delivery->block_cost))
        at = put_double(put(at, ",\"blockCost\":"), delivery->block_cost);
    if (!isnan(delivery->gas_burnt))
        at = put_double(put(at, ",\"gasBurnt\":"), delivery->gas_burnt);
    if (!isnan(delivery->gas))
        at = put_double(put(at, ",\"gas\":"), delivery->gas);
    end_fields(out, at);
}

/* "" is absent. */
static void json_append_words(struct buf *out, const char *name, const char *text)
{
    if (text[0] != '\0') {
        append_string(out, name, text);
        return;
    }
    buf_append_string(out, name);
    buf_append_string(out, "null");
}

/* The properties by which deliveries are selected and grouped. */
static void json_append_context(struct buf *out, const struct model_delivery *delivery)
{
    char *at;

    json_append_words(out, ",\"vat\":", delivery->vat_name);
    json_append_words(out, ",\"deliveryKind\":", delivery->kind);
    json_append_words(out, ",\"method\":", delivery->method);
    json_append_words(out, ",\"error\":", delivery->problem);
    at = begin_fields(out, 4);
    if (at == NULL)
        return;
    at = put_json_integer(at, ",\"run\":", (int64_t)delivery->run);
    at = put_json_integer(at, ",\"blockHeight\":", delivery->block_height);
    at = put_json_time(at, ",\"between\":", delivery->between, delivery->precise);
    end_fields(out, put(at, "}\n"));
}

/* Members that need a model with labels. */
static void append_causes(struct buf *out, const struct model_delivery *delivery)
{
    char *at;

    if (delivery->number == 0)
        return;
    out->length -= strlen("}\n");
    at = begin_fields(out, 5);
    if (at == NULL)
        return;
    at = put_json_integer(at, ",\"number\":", (int64_t)delivery->number);
    at = put_json_integer(
        at, ",\"cause\":", delivery->cause == 0 ? MODEL_NONE : (int64_t)delivery->cause);
    at = put_json_integer(
        at, ",\"chain\":", delivery->chain == 0 ? MODEL_NONE : (int64_t)delivery->chain);
    at = put_json_time(at, ",\"queued\":", delivery->queued, delivery->precise);
    end_fields(out, put(at, "}\n"));
}

static void json_delivery(struct buf *out, const struct model_delivery *delivery)
{
    append_string(out, "{\"kind\":\"delivery\",\"vatID\":", delivery->vat_id);
    json_append_numbers(out, delivery);
    append_string(out, ",\"description\":", delivery->description);
    append_times(out, delivery);
    json_append_context(out, delivery);
}

static void json_delivery_with_causes(struct buf *out, const struct model_delivery *delivery)
{
    json_delivery(out, delivery);
    append_causes(out, delivery);
}

static const char *const note_names[] = {
    [MODEL_NOTE_KERNEL] = "kernel-start",       [MODEL_NOTE_CLOCK] = "clock-change",
    [MODEL_NOTE_UNENDED] = "no-deliver-result", [MODEL_NOTE_UNSTARTED] = "no-deliver",
    [MODEL_NOTE_TOO_BIG] = "record-too-big",
};

static void json_append_integer(struct buf *out, const char *name, int64_t number)
{
    char *at = begin_fields(out, 1);

    if (at != NULL)
        end_fields(out, put_json_integer(at, name, number));
}

static void json_note(struct buf *out, const struct model_note *note)
{
    append_string(out, "{\"kind\":\"note\",\"note\":", note_names[note->kind]);
    if (note->file != NULL)
        append_string(out, ",\"file\":", note->file);
    json_append_integer(out, ",\"line\":", (int64_t)note->line);
    if (note->kind == MODEL_NOTE_CLOCK) {
        buf_append_string(out, ",\"seconds\":");
        json_text_seconds(out, note->amount / 1000);
    }
    if (note->kind == MODEL_NOTE_UNENDED || note->kind == MODEL_NOTE_UNSTARTED) {
        append_string(out, ",\"vatID\":", note->vat_id);
        json_append_integer(out, ",\"deliveryNum\":", note->delivery_num);
    }
    if (note->kind == MODEL_NOTE_TOO_BIG)
        append_string(out, ",\"snippet\":", note->text);
    buf_append_string(out, "}\n");
}

static void json_append_time(struct buf *out, const char *name, int64_t nanoseconds)
{
    char *at = begin_fields(out, 1);

    if (at != NULL)
        end_fields(out, put_json_time(at, name, nanoseconds, true));
}

static void json_append_number(struct buf *out, const char *name, double number)
{
    char *at = isnan(number) ? NULL : begin_fields(out, 1);

    if (at != NULL)
        end_fields(out, put_double(put(at, name), number));
}

/* Leaves out cranks and deliveries, of which there are too many. */
static void json_phase(struct buf *out, const struct phase_span *span)
{
    if (span->phase == PHASE_OTHER || span->phase == PHASE_CRANK || span->phase == PHASE_DELIVERY)
        return;
    append_string(out, "{\"kind\":\"phase\",\"phase\":", phase_name(span->phase));
    json_append_words(out, ",\"name\":", span->name);
    json_append_words(out, ",\"vatID\":", span->vat_id);
    json_append_integer(out, ",\"blockHeight\":", span->block_height);
    json_append_time(out, ",\"start\":", span->start);
    json_append_time(out, ",\"total\":", span->total);
    json_append_time(out, ",\"own\":", span->own);
    json_append_number(out, ",\"beans\":", span->beans);
    json_append_number(out, ",\"bytes\":", span->bytes);
    json_append_number(out, ",\"storedBytes\":", span->stored);
    buf_append_string(out, "}\n");
}

static void json_inbound(struct buf *out, const struct model_inbound *inbound)
{
    append_string(out, "{\"kind\":\"inbound\",\"inbound\":", inbound->type);
    json_append_words(out, ",\"inboundNum\":", inbound->number);
    json_append_words(out, ",\"source\":", inbound->source);
    json_append_integer(out, ",\"blockHeight\":", inbound->block_height);
    json_append_time(out, ",\"time\":", inbound->time);
    json_append_integer(out, ",\"run\":", (int64_t)inbound->run);
    buf_append_string(out, "}\n");
}

static void append_phases(struct buf *out, const int64_t own[PHASES])
{
    bool any = false;

    buf_append_string(out, ",\"phases\":{");
    for (int i = 0; i < PHASES; i++) {
        if (own[i] == 0)
            continue;
        buf_printf(out, "%s\"%s\":", any ? "," : "", phase_name((enum phase)i));
        json_text_nanoseconds(out, own[i]);
        any = true;
    }
    buf_append_byte(out, '}');
}

static void json_block(struct buf *out, const struct phase_block *block)
{
    buf_append_string(out, "{\"kind\":\"block\"");
    json_append_integer(out, ",\"blockHeight\":", block->height);
    json_append_time(out, ",\"start\":", block->start);
    json_append_time(out, ",\"total\":", block->total);
    json_append_integer(out, ",\"deliveries\":", (int64_t)block->deliveries);
    append_phases(out, block->own);
    buf_append_string(out, "}\n");
}

static void append_entries(struct buf *out, const struct entries *entries)
{
    buf_append_string(out, ",\"entries\":{");
    for (uint32_t i = 0; i < entries->types.count; i++) {
        append_string(out, i > 0 ? "," : "", names_text(&entries->types, i));
        buf_append_byte(out, ':');
        json_text_unsigned(out, entries->counts[i]);
    }
    buf_append_byte(out, '}');
}

static void json_end(struct buf *out, const struct tally *tally, uint64_t deliveries)
{
    buf_append_string(out, "{\"kind\":\"summary\"");
    json_append_integer(out, ",\"lines\":", (int64_t)tally->lines);
    json_append_integer(out, ",\"badLines\":", (int64_t)tally->bad_lines);
    json_append_integer(out, ",\"tornLines\":", (int64_t)tally->torn_lines);
    json_append_integer(out, ",\"deliveries\":", (int64_t)deliveries);
    json_append_integer(out, ",\"kernelStarts\":", (int64_t)tally->totals.notes[MODEL_NOTE_KERNEL]);
    json_append_integer(out, ",\"clockChanges\":", (int64_t)tally->totals.notes[MODEL_NOTE_CLOCK]);
    json_append_integer(out,
                        ",\"withoutResult\":", (int64_t)tally->totals.notes[MODEL_NOTE_UNENDED]);
    json_append_integer(out,
                        ",\"withoutDeliver\":", (int64_t)tally->totals.notes[MODEL_NOTE_UNSTARTED]);
    json_append_integer(out,
                        ",\"tooBigRecords\":", (int64_t)tally->totals.notes[MODEL_NOTE_TOO_BIG]);
    append_phases(out, tally->totals.phases);
    append_entries(out, &tally->totals.entries);
    buf_append_string(out, "}\n");
}

const struct render_ops render_json = {.delivery = json_delivery,
                                       .note = json_note,
                                       .inbound = json_inbound,
                                       .phase = json_phase,
                                       .block = json_block,
                                       .end = json_end};

const struct render_ops render_json_causes = {.delivery = json_delivery_with_causes,
                                              .note = json_note,
                                              .inbound = json_inbound,
                                              .phase = json_phase,
                                              .block = json_block,
                                              .end = json_end,
                                              .labels = true};

/* The fields of --json; deliveryKind is called kind here. */
static void report_csv_begin(struct buf *out)
{
    buf_append_string(out, "vatID,vat,blockHeight,crankNum,deliveryNum,replay,kind,method,"
                           "description,status,start,total,pipe,worker,kernel,unattributed,"
                           "syscalls,consoles,overrun,compute,instructions,between,error,run\r\n");
}

static void field_text(struct buf *out, const char *text)
{
    buf_append_byte(out, ',');
    units_csv_text(out, text);
}

static void field_integer(struct buf *out, int64_t number)
{
    buf_append_byte(out, ',');
    if (number != MODEL_NONE)
        json_text_integer(out, number);
}

static void field_time(struct buf *out, int64_t nanoseconds, bool precise)
{
    buf_append_byte(out, ',');
    if (nanoseconds == MODEL_NONE)
        return;
    if (precise)
        json_text_nanoseconds(out, nanoseconds);
    else
        json_text_seconds(out, nanoseconds / 1000);
}

static void field_double(struct buf *out, double number)
{
    buf_append_byte(out, ',');
    if (!isnan(number))
        buf_printf(out, "%.17g", number);
}

static void csv_delivery(struct buf *out, const struct model_delivery *delivery)
{
    bool known = delivery->total != MODEL_NONE, precise = delivery->precise;
    static const char *const truths[] = {"", "false", "true"};

    units_csv_text(out, delivery->vat_id);
    field_text(out, delivery->vat_name);
    field_integer(out, delivery->block_height);
    field_integer(out, delivery->crank_num);
    field_integer(out, delivery->delivery_num);
    field_text(out, delivery->replay ? "true" : "false");
    field_text(out, delivery->kind);
    field_text(out, delivery->method);
    field_text(out, delivery->description);
    field_text(out, delivery->status == MODEL_OK ? "ok" : "error");
    field_time(out, delivery->start, false);
    field_time(out, delivery->total, precise);
    field_time(out, delivery->pipe, precise);
    field_time(out, delivery->worker, precise);
    field_time(out, delivery->kernel, precise);
    field_time(out, delivery->unattributed, precise);
    field_integer(out, known ? (int64_t)delivery->syscalls : MODEL_NONE);
    field_integer(out, known ? (int64_t)delivery->consoles : MODEL_NONE);
    field_text(out, known ? truths[delivery->overrun + 1] : "");
    field_double(out, delivery->compute);
    field_double(out, delivery->instructions);
    field_time(out, delivery->between, precise);
    field_text(out, delivery->problem);
    field_integer(out, (int64_t)delivery->run);
    buf_append(out, "\r\n", 2);
}

const struct render_ops render_csv = {.begin = report_csv_begin, .delivery = csv_delivery};

/* Reopens the last row. */
static void reopen(struct buf *out)
{
    if (!buf_failed(out))
        out->length -= strlen("\r\n");
}

static void priced_begin(struct buf *out)
{
    report_csv_begin(out);
    reopen(out);
    buf_append_string(out, ",gas\r\n");
}

static void priced_delivery(struct buf *out, const struct model_delivery *delivery)
{
    csv_delivery(out, delivery);
    reopen(out);
    field_double(out, delivery->gas);
    buf_append(out, "\r\n", 2);
}

const struct render_ops render_csv_priced = {.begin = priced_begin, .delivery = priced_delivery};
