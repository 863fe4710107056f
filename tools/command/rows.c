/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/json_text.h"
#include "base/number.h"
#include "base/output/output_file.h"
#include "slog/read/reader.h"
#include "tools/command/commands.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"

#define ROWS_DELIVERIES "deliveries.csv.gz"
#define ROWS_REQUESTS   "requests.csv.gz"

/* A file that is written compressed with gzip, whole or not at all (base/output/output_file.h). */
struct table {
    struct output_file file;
    gzFile zip; /* owns a descriptor of its own; NULL: not open */
};

/* The tables of one directory. All zeros is not open. */
struct rows_tables {
    struct table deliveries, requests;
};

static int table_failed(const struct table *table, struct error *error)
{
    return error_system(error, errno, "%s: cannot write %s", table->file.path, table->file.what);
}

static int table_open(struct table *table, const char *directory, const char *name,
                      struct error *error)
{
    struct buf path = {0};
    int result = -1, fd;

    buf_printf(&path, "%s/%s", directory, name);
    if (buf_string(&path) == NULL)
        error_memory(error, "a table");
    else
        result = output_file_open(&table->file, path.data, name, error);
    buf_free(&path);
    if (result != 0)
        return -1;
    fd = dup(table->file.fd);
    table->zip = fd >= 0 ? gzdopen(fd, "w") : NULL;
    if (table->zip != NULL)
        return 0;
    result = table_failed(table, error);
    if (fd >= 0)
        close(fd);
    output_file_discard(&table->file);
    return result;
}

/* Writes the buffer and empties it. -1 with ERROR_SYSTEM, also when the buffer had failed. */
static int table_write(struct table *table, struct buf *text, struct error *error)
{
    if (buf_failed(text))
        return error_memory(error, "a table");
    if (gzfwrite(text->data, 1, text->length, table->zip) != text->length)
        return table_failed(table, error);
    buf_clear(text);
    return 0;
}

/* Writes what is left, and gives the file its name. */
static int table_finish(struct table *table, struct error *error)
{
    gzFile zip = table->zip;

    table->zip = NULL;
    return gzclose(zip) == Z_OK ? output_file_finish(&table->file, error)
                                : table_failed(table, error);
}

/* Removes an unfinished file. */
static void table_close(struct table *table)
{
    if (table->zip != NULL)
        (void)gzclose(table->zip);
    if (table->file.path != NULL)
        output_file_discard(&table->file);
}

/* Creates the directory if absent. -1 with ERROR_SYSTEM; call rows_tables_close() in any case. */
static int rows_tables_open(struct rows_tables *tables, const char *directory, struct error *error)
{
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return error_system(error, errno, "%s: cannot create the directory", directory);
    if (table_open(&tables->deliveries, directory, ROWS_DELIVERIES, error) != 0)
        return -1;
    return table_open(&tables->requests, directory, ROWS_REQUESTS, error);
}

/* Gives both their names. -1 with ERROR_SYSTEM. */
static int rows_tables_finish(struct rows_tables *tables, struct error *error)
{
    if (table_finish(&tables->deliveries, error) != 0)
        return -1;
    return table_finish(&tables->requests, error);
}

static void rows_tables_close(struct rows_tables *tables)
{
    table_close(&tables->deliveries);
    table_close(&tables->requests);
}

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

/* The columns of --csv, and those that need a model with labels. */
static void append_delivery_row(struct buf *out, const struct model_delivery *delivery)
{
    render_csv.delivery(out, delivery);
    out->length -= buf_failed(out) ? 0 : strlen("\r\n");
    append_field(out, known(delivery->number));
    append_field(out, known(delivery->cause));
    append_field(out, known(delivery->chain));
    rows_append_time(out, delivery->queued);
    buf_append(out, "\r\n", 2);
}

static void append_request_row(struct buf *out, const struct model_delivery *delivery,
                               size_t request, const int64_t times[MODEL_SPAN_KINDS])
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

/* The times of a request's spans, if the worker stamped them. */
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
        append_request_row(&rows->out, delivery, i, times);
    }
    return table_write(&rows->tables.requests, &rows->out, error);
}

static int rows_on_delivery(void *context, const struct model_delivery *delivery,
                            struct error *error)
{
    struct rows *rows = context;

    if (!selection_takes(&rows->options->selection, delivery))
        return 0;
    rows->chosen++;
    append_delivery_row(&rows->out, delivery);
    if (table_write(&rows->tables.deliveries, &rows->out, error) != 0)
        return -1;
    return add_requests(rows, delivery, error);
}

static int write_headings(struct rows *rows, struct error *error)
{
    render_csv.begin(&rows->out);
    rows->out.length -= buf_failed(&rows->out) ? 0 : strlen("\r\n");
    buf_append_string(&rows->out, ",number,cause,chain,queued\r\n");
    if (table_write(&rows->tables.deliveries, &rows->out, error) != 0)
        return -1;
    buf_append_string(&rows->out, "number,vatID,crankNum,deliveryNum,request,kind,description,up,"
                                  "kernel,down,requestBytes,answerBytes\r\n");
    return table_write(&rows->tables.requests, &rows->out, error);
}

static int write_tables(struct rows *rows, struct error *error)
{
    const struct options *options = rows->options;
    struct feed feed = options_feed(options);
    struct tally tally;
    int result;

    feed.labels = true;
    feed.sink = (struct model_sink){.delivery = rows_on_delivery, .context = rows};
    result = feed_run(&feed, &tally, error);
    if (result == 0)
        result = rows_tables_finish(&rows->tables, error);
    if (result == 0)
        selection_explain(&rows->options->selection, rows->chosen, tally.totals.deliveries);
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

/* An offset added to numbers of one kind. */
struct numbering {
    uint64_t offset; /* by so much, */
    uint64_t most;   /* the largest result */
};

/* Appends a table of one directory to the joined one. */
struct rows_merge {
    struct table *out;
    const char *path;
    struct buf heading;   /* of the first directory, with its newline; "" before it */
    struct buf row, text; /* used again and again */
    struct numbering deliveries, chains;
    bool is_requests;
};

/* Columns of deliveries, followed by one more. */
enum { ROWS_NUMBER, ROWS_CAUSE, ROWS_CHAIN, ROWS_NUMBERS };

static int bad_row(const struct rows_merge *merge, uint64_t line, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s:%" PRIu64 ": not a row of slogreport rows",
                     merge->path, line);
}

/* Appends a number plus its offset, or nothing if empty. -1 if invalid. */
static int append_moved_number(struct rows_merge *merge, struct numbering *numbering,
                               const char *at, size_t length)
{
    uint64_t number;

    if (length == 0)
        return 0;
    if (!number_take(&at, &number) || (*at != ',' && *at != '\r') ||
        __builtin_add_overflow(number, numbering->offset, &number))
        return -1;
    buf_printf(&merge->text, "%" PRIu64, number);
    numbering->most = number > numbering->most ? number : numbering->most;
    return 0;
}

/* Renumbers the first column of requests. */
static int move_request(struct rows_merge *merge)
{
    const char *row = merge->row.data, *comma = memchr(row, ',', merge->row.length);

    if (comma == NULL ||
        append_moved_number(merge, &merge->deliveries, row, (size_t)(comma - row)) != 0)
        return -1;
    buf_append(&merge->text, comma, merge->row.length - (size_t)(comma - row));
    return 0;
}

/* Renumbers the columns before the last of deliveries. None of these has quotes. */
static int move_delivery(struct rows_merge *merge)
{
    const char *row = merge->row.data, *columns[ROWS_NUMBERS + 1];
    size_t end = merge->row.length;

    for (size_t i = ROWS_NUMBERS + 1; i > 0; i--) {
        const char *comma = memrchr(row, ',', end);

        if (comma == NULL)
            return -1;
        columns[i - 1] = comma;
        end = (size_t)(comma - row);
    }
    buf_append(&merge->text, row, end);
    for (size_t i = 0; i < ROWS_NUMBERS; i++) {
        buf_append_byte(&merge->text, ',');
        if (append_moved_number(merge, i == ROWS_CHAIN ? &merge->chains : &merge->deliveries,
                                columns[i] + 1, (size_t)(columns[i + 1] - columns[i] - 1)) != 0)
            return -1;
    }
    buf_append(&merge->text, columns[ROWS_NUMBERS],
               merge->row.length - (size_t)(columns[ROWS_NUMBERS] - row));
    return 0;
}

/* All directories must have the same columns. */
static int take_heading(struct rows_merge *merge, struct error *error)
{
    const struct buf *row = &merge->row;

    if (merge->heading.length == 0) {
        buf_append(&merge->heading, row->data, row->length);
        buf_append(&merge->text, row->data, row->length);
        return table_write(merge->out, &merge->text, error);
    }
    if (row->length == merge->heading.length &&
        memcmp(row->data, merge->heading.data, row->length) == 0)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "%s: has other columns than the tables before it; join tables of one version",
                     merge->path);
}

static int merge_row(struct rows_merge *merge, bool first, uint64_t line, struct error *error)
{
    int result;

    if (buf_string(&merge->row) == NULL)
        return error_memory(error, "a row");
    if (first)
        return take_heading(merge, error);
    result = merge->is_requests ? move_request(merge) : move_delivery(merge);
    if (result != 0)
        return bad_row(merge, line, error);
    return table_write(merge->out, &merge->text, error);
}

static bool has_odd_quotes(const struct buf *row)
{
    bool odd = false;

    for (size_t i = 0; i < row->length; i++)
        odd ^= row->data[i] == '"';
    return odd;
}

/* Quoted text may contain newlines. */
static int merge_rows(struct rows_merge *merge, struct reader *reader, struct error *error)
{
    struct reader_line line = {0};
    bool first = true;
    int got;

    buf_clear(&merge->row);
    while ((got = reader_next(reader, false, &line, error)) > 0) {
        if (line.torn || line.too_long || merge->row.length > READER_LONGEST_LINE)
            return bad_row(merge, line.number, error);
        buf_append(&merge->row, line.bytes, line.length);
        buf_append_byte(&merge->row, '\n');
        if (has_odd_quotes(&merge->row))
            continue;
        if (merge_row(merge, first, line.number, error) != 0)
            return -1;
        buf_clear(&merge->row);
        first = false;
    }
    return got == 0 && (first || merge->row.length > 0) ? bad_row(merge, line.number, error) : got;
}

static int merge_table(struct rows_merge *merge, const char *directory, const char *name,
                       struct error *error)
{
    struct buf path = {0};
    struct reader *reader = NULL;
    int result;

    buf_printf(&path, "%s/%s", directory, name);
    merge->path = buf_string(&path);
    result = merge->path != NULL ? 0 : error_memory(error, "a table");
    if (result == 0 && (reader = reader_open(merge->path, error)) == NULL)
        result = -1;
    if (result == 0)
        result = merge_rows(merge, reader, error);
    if (reader != NULL)
        reader_close(reader);
    buf_free(&path);
    return result;
}

static void free_merge(struct rows_merge *merge)
{
    buf_free(&merge->heading);
    buf_free(&merge->row);
    buf_free(&merge->text);
}

static int merge_directories(const struct options *options, struct rows_tables *tables,
                             struct error *error)
{
    struct rows_merge deliveries = {.out = &tables->deliveries},
                      requests = {.out = &tables->requests, .is_requests = true};
    int result = 0;

    for (char **directory = options->files; *directory != NULL && result == 0; directory++) {
        result = merge_table(&deliveries, *directory, ROWS_DELIVERIES, error);
        if (result == 0)
            result = merge_table(&requests, *directory, ROWS_REQUESTS, error);
        requests.deliveries.offset = deliveries.deliveries.offset = deliveries.deliveries.most;
        deliveries.chains.offset = deliveries.chains.most;
    }
    free_merge(&deliveries);
    free_merge(&requests);
    return result;
}

int rows_merge_run(const struct options *options, struct error *error)
{
    struct rows_tables tables = {0};
    int result = rows_tables_open(&tables, options->out, error);

    if (result == 0)
        result = merge_directories(options, &tables, error);
    if (result == 0)
        result = rows_tables_finish(&tables, error);
    rows_tables_close(&tables);
    return result;
}
