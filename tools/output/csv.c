/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/render.h"

#include <math.h>
#include <string.h>

#include "base/json/json_text.h"
#include "tools/output/units.h"

/* The fields of --json, whose deliveryKind is the kind here. */
static void csv_begin(struct buf *out)
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

const struct render_ops render_csv = {.begin = csv_begin, .delivery = csv_delivery};

/* Opens the row that was ended last again. */
static void reopen(struct buf *out)
{
    if (!buf_failed(out))
        out->length -= strlen("\r\n");
}

static void priced_begin(struct buf *out)
{
    csv_begin(out);
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
