/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/html/page_deliveries.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/json/json_text.h"
#include "tools/stats/varint.h"

enum { FULL_AT = 4096, FULL_AT_BYTES = 1024 * 1024 };

/* Longer times, over 13 days, would not be exact in JavaScript. */
#define LONGEST ((int64_t)1 << 50)

static const char *const column_names[PAGE_COLUMNS] = {
    [PAGE_START] = "start",
    [PAGE_TOTAL] = "total",
    [PAGE_PIPE] = "pipe",
    [PAGE_WORKER] = "worker",
    [PAGE_KERNEL] = "kernel",
    [PAGE_CPU_WAIT] = "cpuWait",
    [PAGE_WORKER_CPU_WAIT] = "workerCpuWait",
    [PAGE_VAT] = "vat",
    [PAGE_KIND] = "kind",
    [PAGE_TEXT] = "text",
    [PAGE_PROBLEM] = "problem",
    [PAGE_CRANK] = "crank",
    [PAGE_NUMBER] = "number",
    [PAGE_BLOCK] = "block",
    [PAGE_COMPUTE] = "compute",
    [PAGE_INSTRUCTIONS] = "instructions",
    [PAGE_BLOCK_COST] = "blockCost",
    [PAGE_GAS_BURNT] = "gasBurnt",
    [PAGE_LINE] = "line",
    [PAGE_SYSCALLS] = "syscalls",
    [PAGE_CONSOLES] = "consoles",
    [PAGE_FLAGS] = "flags",
    [PAGE_ORDINAL] = "ordinal",
    [PAGE_CAUSE] = "cause",
    [PAGE_CHAIN] = "chain",
    [PAGE_QUEUED] = "queued",
    [PAGE_GAS] = "gas",
};

static struct buf *next_column_item(struct page_deliveries *deliveries, enum page_column column)
{
    struct buf *items = &deliveries->columns[column];

    if (items->length > 0)
        buf_append_byte(items, ',');
    return items;
}

static void add_integer(struct page_deliveries *deliveries, enum page_column column, int64_t number)
{
    struct buf *items = next_column_item(deliveries, column);

    if (number == MODEL_NONE)
        buf_append_string(items, "null");
    else
        json_text_integer(items, number);
}

static void page_deliveries_add_number(struct page_deliveries *deliveries, enum page_column column,
                                       double number)
{
    struct buf *items = next_column_item(deliveries, column);

    if (isfinite(number))
        buf_printf(items, "%.17g", number);
    else
        buf_append_string(items, "null");
}

static void add_text(struct page_deliveries *deliveries, enum page_column column, const char *text)
{
    json_text_string(next_column_item(deliveries, column), text, strlen(text));
}

static int page_flags_of(const struct model_delivery *delivery)
{
    return (delivery->replay ? PAGE_REPLAY : 0) |
           (delivery->status == MODEL_ERROR ? PAGE_ERROR : 0) |
           (delivery->clock_changed ? PAGE_CLOCK : 0) | (delivery->overrun == 1 ? PAGE_OVERRUN : 0);
}

/* ---- detail ------------------------------------------------------------- */

/* The first request of which only the kernel's side is known; these come last. */
static size_t first_unseen(const struct model_delivery *delivery)
{
    if (delivery->coverage == MODEL_BARE)
        return 0;
    if (delivery->coverage != MODEL_CUT)
        return delivery->event_count;
    for (size_t i = delivery->span_count; i > 0; i--) {
        if (delivery->spans[i - 1].kind == MODEL_UP)
            return delivery->spans[i - 1].event + 1;
    }
    return 0;
}

/* The kernel's time for a request; 0 if its answer is missing. */
static int64_t length_of(const struct model_event *event)
{
    int64_t length;

    if (event->answered == MODEL_NONE)
        return 0;
    return __builtin_sub_overflow(event->answered, event->arrived, &length) ? -1 : length;
}

static bool is_short(int64_t length)
{
    return length >= 0 && length < LONGEST;
}

static bool unseen_fit(const struct model_delivery *delivery)
{
    for (size_t i = first_unseen(delivery); i < delivery->event_count; i++) {
        const struct model_event *event = &delivery->events[i];
        int64_t from;

        if (__builtin_sub_overflow(event->arrived, delivery->sent, &from) || !is_short(from) ||
            !is_short(length_of(event)))
            return false;
    }
    return true;
}

static bool fits_page(const struct model_delivery *delivery)
{
    for (size_t i = 0; i < delivery->span_count; i++) {
        int64_t length;

        if (__builtin_sub_overflow(delivery->spans[i].to, delivery->spans[i].from, &length) ||
            !is_short(length))
            return false;
    }
    return !delivery->clock_changed && unseen_fit(delivery);
}

/* Most slogfiles have microseconds, which makes lengths shorter. */
static int64_t unit_of_spans(const struct model_delivery *delivery)
{
    for (size_t i = 0; i < delivery->span_count; i++) {
        if ((delivery->spans[i].to - delivery->spans[i].from) % 1000 != 0)
            return 1;
    }
    for (size_t i = first_unseen(delivery); i < delivery->event_count; i++) {
        if ((delivery->events[i].arrived - delivery->sent) % 1000 != 0 ||
            length_of(&delivery->events[i]) % 1000 != 0)
            return 1;
    }
    return 1000;
}

static void append_label(struct page_deliveries *deliveries, const struct model_event *event)
{
    struct buf key = {0};
    uint32_t number;

    buf_append(&key, event->kind, strlen(event->kind) + 1);
    buf_append_string(&key, event->label);
    number =
        buf_failed(&key) ? NAMES_NONE : names_intern(&deliveries->labels, key.data, key.length);
    buf_free(&key);
    if (number == NAMES_NONE)
        deliveries->bytes.failed = true;
    varint_append(&deliveries->bytes, number);
}

static void append_unseen(struct page_deliveries *deliveries, const struct model_delivery *delivery,
                          int64_t unit)
{
    size_t first = first_unseen(delivery);

    varint_append(&deliveries->bytes, delivery->event_count - first);
    for (size_t i = first; i < delivery->event_count; i++) {
        const struct model_event *event = &delivery->events[i];

        varint_append(&deliveries->bytes, (uint64_t)((event->arrived - delivery->sent) / unit));
        varint_append(&deliveries->bytes, (uint64_t)(length_of(event) / unit));
        append_label(deliveries, event);
    }
}

static size_t page_add_detail(struct page_deliveries *deliveries,
                              const struct model_delivery *delivery)
{
    size_t before = deliveries->bytes.length;
    int64_t unit = unit_of_spans(delivery);

    varint_append(&deliveries->bytes, (uint64_t)unit);
    append_unseen(deliveries, delivery, unit);
    for (size_t i = 0; i < delivery->span_count; i++) {
        const struct model_span *span = &delivery->spans[i];

        varint_append(&deliveries->bytes,
                      (uint64_t)((span->to - span->from) / unit) * 8 + (uint64_t)span->kind);
        if (span->kind == MODEL_UP)
            append_label(deliveries, &delivery->events[span->event]);
    }
    return deliveries->bytes.length - before;
}

/* ---- deliveries --------------------------------------------------------- */

static void add_times(struct page_deliveries *deliveries, const struct model_delivery *delivery)
{
    const struct model_waits waits = model_waits_of(delivery);

    add_integer(deliveries, PAGE_TOTAL, delivery->total);
    add_integer(deliveries, PAGE_PIPE, model_without_wait(delivery->pipe, waits.up + waits.down));
    add_integer(deliveries, PAGE_WORKER, model_without_wait(delivery->worker, waits.worker));
    add_integer(deliveries, PAGE_KERNEL, model_without_wait(delivery->kernel, waits.kernel));
    add_integer(deliveries, PAGE_CPU_WAIT, waits.by_gaspipe);
    add_integer(deliveries, PAGE_WORKER_CPU_WAIT, waits.by_worker);
}

static void add_columns(struct page_deliveries *deliveries, const struct model_delivery *delivery)
{
    add_times(deliveries, delivery);
    add_text(deliveries, PAGE_TEXT, delivery->description);
    add_text(deliveries, PAGE_PROBLEM, delivery->problem);
    add_integer(deliveries, PAGE_CRANK, delivery->crank_num);
    add_integer(deliveries, PAGE_NUMBER, delivery->delivery_num);
    add_integer(deliveries, PAGE_BLOCK, delivery->block_height);
    page_deliveries_add_number(deliveries, PAGE_COMPUTE, delivery->compute);
    page_deliveries_add_number(deliveries, PAGE_INSTRUCTIONS, delivery->instructions);
    page_deliveries_add_number(deliveries, PAGE_BLOCK_COST, delivery->block_cost);
    page_deliveries_add_number(deliveries, PAGE_GAS_BURNT, delivery->gas_burnt);
    add_integer(deliveries, PAGE_LINE, (int64_t)delivery->line);
    add_integer(deliveries, PAGE_SYSCALLS, (int64_t)delivery->syscalls);
    add_integer(deliveries, PAGE_CONSOLES, (int64_t)delivery->consoles);
    add_integer(deliveries, PAGE_FLAGS, page_flags_of(delivery));
    add_integer(deliveries, PAGE_ORDINAL, (int64_t)delivery->number);
    add_integer(deliveries, PAGE_CAUSE, (int64_t)delivery->cause);
    add_integer(deliveries, PAGE_CHAIN, (int64_t)delivery->chain);
    add_integer(deliveries, PAGE_QUEUED, delivery->queued);
    page_deliveries_add_number(deliveries, PAGE_GAS, delivery->gas);
}

static void page_add_said(struct page_deliveries *deliveries, const struct model_delivery *delivery)
{
    struct buf *json = &deliveries->said, text = {0};

    json_text_string(json, delivery->arguments, strlen(delivery->arguments));
    for (size_t i = 0; i < delivery->event_count; i++) {
        const struct model_event *event = &delivery->events[i];

        buf_clear(&text);
        buf_append_string(&text, event->said);
        if (event->answered_by[0] != '\0') {
            buf_append_byte(&text, '\n');
            buf_append_string(&text, event->answered_by);
        }
        buf_append_byte(json, ',');
        json->failed |= buf_failed(&text);
        json_text_string(json, buf_failed(&text) ? "" : text.data,
                         buf_failed(&text) ? 0 : text.length);
    }
    buf_free(&text);
}

size_t page_deliveries_add(struct page_deliveries *deliveries,
                           const struct model_delivery *delivery, int64_t start, uint32_t vat,
                           uint32_t kind, bool detail, bool said)
{
    size_t taken = 0;

    add_integer(deliveries, PAGE_START, start - deliveries->before);
    add_integer(deliveries, PAGE_VAT, vat);
    add_integer(deliveries, PAGE_KIND, kind);
    add_columns(deliveries, delivery);
    deliveries->before = start;
    if (detail && delivery->span_count + delivery->event_count > 0 && fits_page(delivery))
        taken = page_add_detail(deliveries, delivery);
    buf_append_string(&deliveries->said, deliveries->count > 0 ? ",[" : "[");
    if (said)
        page_add_said(deliveries, delivery);
    buf_append_byte(&deliveries->said, ']');
    buf_printf(&deliveries->lengths, "%s%zu", deliveries->count > 0 ? "," : "", taken);
    deliveries->count++;
    return taken;
}

bool page_deliveries_full(const struct page_deliveries *deliveries)
{
    return deliveries->count >= FULL_AT || deliveries->bytes.length >= FULL_AT_BYTES ||
           deliveries->said.length >= FULL_AT_BYTES ||
           deliveries->columns[PAGE_TEXT].length >= FULL_AT_BYTES ||
           deliveries->columns[PAGE_PROBLEM].length >= FULL_AT_BYTES;
}

static void append_buf(struct buf *json, const struct buf *piece)
{
    json->failed |= buf_failed(piece);
    buf_append(json, piece->data, piece->length);
}

void page_deliveries_append(const struct page_deliveries *deliveries, struct buf *json)
{
    for (int column = 0; column < PAGE_COLUMNS; column++) {
        buf_printf(json, "%s\"%s\":[", column == 0 ? "{" : "],", column_names[column]);
        append_buf(json, &deliveries->columns[column]);
    }
    buf_append_string(json, "]}");
}

/* EVP_EncodeBlock() also writes a '\0'. */
static void append_base64(struct buf *json, const struct buf *bytes)
{
    if (bytes->length > INT_MAX / 2 || buf_reserve(json, bytes->length / 3 * 4 + 5) != 0) {
        json->failed = true;
        return;
    }
    json->length += (size_t)EVP_EncodeBlock((unsigned char *)json->data + json->length,
                                            (const unsigned char *)bytes->data, (int)bytes->length);
}

void page_deliveries_append_detail(const struct page_deliveries *deliveries, struct buf *json)
{
    buf_append_string(json, "{\"labels\":[");
    for (size_t i = 0; i < deliveries->labels.count; i++) {
        const struct name *name = &deliveries->labels.names[i];
        size_t kind = strlen(name->text);

        buf_append_string(json, i > 0 ? ",[" : "[");
        json_text_string(json, name->text, kind);
        buf_append_byte(json, ',');
        json_text_string(json, name->text + kind + 1, name->length - kind - 1);
        buf_append_byte(json, ']');
    }
    buf_append_string(json, "],\"lengths\":[");
    append_buf(json, &deliveries->lengths);
    buf_append_string(json, "],\"said\":[");
    append_buf(json, &deliveries->said);
    buf_append_string(json, "],\"bytes\":\"");
    json->failed |= buf_failed(&deliveries->bytes);
    if (deliveries->bytes.length > 0)
        append_base64(json, &deliveries->bytes);
    buf_append_string(json, "\"}");
}

void page_deliveries_free(struct page_deliveries *deliveries)
{
    for (int column = 0; column < PAGE_COLUMNS; column++)
        buf_free(&deliveries->columns[column]);
    names_free(&deliveries->labels);
    buf_free(&deliveries->lengths);
    buf_free(&deliveries->bytes);
    buf_free(&deliveries->said);
    *deliveries = (struct page_deliveries){0};
}
