/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/rows/rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/json_text.h"
#include "tools/command/rows/rows_tables.h"
#include "tools/input/feed.h"
#include "tools/output/render.h"
#include "tools/output/units.h"

struct rows {
    const struct options *options;
    struct rows_tables tables;
    struct buf out; /* used again and again */
    uint64_t chosen;
};

static void append_field(struct buf *out, int64_t number)
{
    buf_append_byte(out, ',');
    if (number != MODEL_NONE)
        json_text_integer(out, number);
}

static void rows_append_time(struct buf *out, int64_t nanoseconds)
{
    buf_append_byte(out, ',');
    if (nanoseconds != MODEL_NONE)
        json_text_nanoseconds(out, nanoseconds);
}

static int64_t known(uint64_t number)
{
    return number == 0 ? MODEL_NONE : (int64_t)number;
}

/* The columns of --csv, and what only a model with labels knows. */
static void append_delivery(struct buf *out, const struct model_delivery *delivery)
{
    render_csv.delivery(out, delivery);
    out->length -= buf_failed(out) ? 0 : strlen("\r\n");
    append_field(out, known(delivery->number));
    append_field(out, known(delivery->cause));
    append_field(out, known(delivery->chain));
    rows_append_time(out, delivery->queued);
    buf_append(out, "\r\n", 2);
}

static void append_request(struct buf *out, const struct model_delivery *delivery, size_t request,
                           const int64_t times[MODEL_SPAN_KINDS])
{
    const struct model_event *event = &delivery->events[request];
    int64_t kernel = event->answered == MODEL_NONE ? MODEL_NONE : event->answered - event->arrived;

    buf_printf(out, "%" PRIu64, delivery->number);
    buf_append_byte(out, ',');
    units_csv_text(out, delivery->vat_id);
    append_field(out, delivery->crank_num);
    append_field(out, delivery->delivery_num);
    append_field(out, (int64_t)request);
    buf_append_byte(out, ',');
    units_csv_text(out, event->kind);
    buf_append_byte(out, ',');
    units_csv_text(out, event->label);
    rows_append_time(out, times[MODEL_UP]);
    rows_append_time(out, times[MODEL_KERNEL] != MODEL_NONE ? times[MODEL_KERNEL] : kernel);
    rows_append_time(out, times[MODEL_DOWN]);
    append_field(out, event->console ? MODEL_NONE : (int64_t)event->request_bytes);
    append_field(out, event->console ? MODEL_NONE : (int64_t)event->answer_bytes);
    buf_append(out, "\r\n", 2);
}

/* What a request took on its ways, if the worker noted it. */
static void take_times(const struct model_delivery *delivery, size_t *span, size_t request,
                       int64_t times[MODEL_SPAN_KINDS])
{
    for (int kind = 0; kind < MODEL_SPAN_KINDS; kind++)
        times[kind] = MODEL_NONE;
    while (*span < delivery->span_count &&
           (delivery->spans[*span].event == UINT32_MAX || delivery->spans[*span].event < request))
        ++*span;
    for (; *span < delivery->span_count && delivery->spans[*span].event == request; ++*span)
        times[delivery->spans[*span].kind] =
            delivery->spans[*span].to - delivery->spans[*span].from;
}

static int add_requests(struct rows *rows, const struct model_delivery *delivery,
                        struct error *error)
{
    int64_t times[MODEL_SPAN_KINDS];
    size_t span = 0;

    for (size_t i = 0; i < delivery->event_count; i++) {
        take_times(delivery, &span, i, times);
        append_request(&rows->out, delivery, i, times);
    }
    return gzip_file_write(rows->tables.requests, &rows->out, error);
}

static int rows_on_delivery(void *context, const struct model_delivery *delivery,
                            struct error *error)
{
    struct rows *rows = context;

    if (!selection_takes(&rows->options->selection, delivery))
        return 0;
    rows->chosen++;
    append_delivery(&rows->out, delivery);
    if (gzip_file_write(rows->tables.deliveries, &rows->out, error) != 0)
        return -1;
    return add_requests(rows, delivery, error);
}

static int write_headings(struct rows *rows, struct error *error)
{
    render_csv.begin(&rows->out);
    rows->out.length -= buf_failed(&rows->out) ? 0 : strlen("\r\n");
    buf_append_string(&rows->out, ",number,cause,chain,queued\r\n");
    if (gzip_file_write(rows->tables.deliveries, &rows->out, error) != 0)
        return -1;
    buf_append_string(&rows->out, "number,vatID,crankNum,deliveryNum,request,kind,description,up,"
                                  "kernel,down,requestBytes,answerBytes\r\n");
    return gzip_file_write(rows->tables.requests, &rows->out, error);
}

static int write_tables(struct rows *rows, struct error *error)
{
    const struct options *options = rows->options;
    struct feed feed = {.files = options->files,
                        .strict = options->strict,
                        .jobs = options->jobs,
                        .gas = options->priced ? &options->gas : NULL,
                        .progress = true,
                        .labels = true,
                        .delivery = rows_on_delivery,
                        .context = rows};
    struct tally tally;
    int result = feed_run(&feed, &tally, error);

    if (result == 0)
        result = rows_tables_finish(&rows->tables, error);
    if (result == 0)
        selection_explain_none(rows->chosen, tally.deliveries);
    tally_free(&tally);
    return result;
}

int rows_run(const struct options *options, struct error *error)
{
    struct rows rows = {.options = options};
    int result = rows_tables_open(&rows.tables, options->out, error);

    if (result == 0)
        result = write_headings(&rows, error);
    if (result == 0)
        result = write_tables(&rows, error);
    rows_tables_close(&rows.tables);
    buf_free(&rows.out);
    return result;
}
