/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/rows/rows_merge.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "slog/read/reader.h"
#include "tools/command/rows/rows_tables.h"

/* How numbers of a kind are moved. */
struct numbering {
    uint64_t offset; /* by so much, */
    uint64_t most;   /* and the greatest one that came of it */
};

/* One table of one folder on its way into that of all. */
struct rows_merge {
    struct gzip_file *out;
    const char *path;
    struct buf heading;   /* of the first folder, with its line's end; "": there was none yet */
    struct buf row, text; /* used again and again */
    struct numbering deliveries, chains;
    bool is_requests;
};

/* Columns of deliveries, behind which stands one more. */
enum { ROWS_NUMBER, ROWS_CAUSE, ROWS_CHAIN, ROWS_NUMBERS };

static int bad_row(const struct rows_merge *merge, uint64_t line, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s:%" PRIu64 ": not a row of slogreport rows",
                     merge->path, line);
}

/* Appends a number that is moved, or nothing where there is none. -1: it is no number. */
static int append_moved(struct rows_merge *merge, struct numbering *numbering, const char *at,
                        size_t length)
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

/* The number is the first column of requests. */
static int move_request(struct rows_merge *merge)
{
    const char *row = merge->row.data, *comma = memchr(row, ',', merge->row.length);

    if (comma == NULL || append_moved(merge, &merge->deliveries, row, (size_t)(comma - row)) != 0)
        return -1;
    buf_append(&merge->text, comma, merge->row.length - (size_t)(comma - row));
    return 0;
}

/* The numbers are the last but one columns of deliveries, none of which has quotes. */
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
        if (append_moved(merge, i == ROWS_CHAIN ? &merge->chains : &merge->deliveries,
                         columns[i] + 1, (size_t)(columns[i + 1] - columns[i] - 1)) != 0)
            return -1;
    }
    buf_append(&merge->text, columns[ROWS_NUMBERS],
               merge->row.length - (size_t)(columns[ROWS_NUMBERS] - row));
    return 0;
}

/* All folders have the same columns. */
static int take_heading(struct rows_merge *merge, struct error *error)
{
    const struct buf *row = &merge->row;

    if (merge->heading.length == 0) {
        buf_append(&merge->heading, row->data, row->length);
        buf_append(&merge->text, row->data, row->length);
        return gzip_file_write(merge->out, &merge->text, error);
    }
    if (row->length == merge->heading.length &&
        memcmp(row->data, merge->heading.data, row->length) == 0)
        return 0;
    return error_set(error, ERROR_INPUT, "%s: its columns are others than those before it",
                     merge->path);
}

static int take_row(struct rows_merge *merge, bool first, uint64_t line, struct error *error)
{
    int result;

    if (buf_string(&merge->row) == NULL)
        return error_memory(error, "a row");
    if (first)
        return take_heading(merge, error);
    result = merge->is_requests ? move_request(merge) : move_delivery(merge);
    if (result != 0)
        return bad_row(merge, line, error);
    return gzip_file_write(merge->out, &merge->text, error);
}

static bool has_odd_quotes(const struct buf *row)
{
    bool odd = false;

    for (size_t i = 0; i < row->length; i++)
        odd ^= row->data[i] == '"';
    return odd;
}

/* A text in quotes may contain ends of lines. */
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
        if (take_row(merge, first, line.number, error) != 0)
            return -1;
        buf_clear(&merge->row);
        first = false;
    }
    return got == 0 && (first || merge->row.length > 0) ? bad_row(merge, line.number, error) : got;
}

static int merge_table(struct rows_merge *merge, const char *folder, const char *name,
                       struct error *error)
{
    struct buf path = {0};
    struct reader *reader = NULL;
    int result;

    buf_printf(&path, "%s/%s", folder, name);
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

static int merge_folders(const struct options *options, const struct rows_tables *tables,
                         struct error *error)
{
    struct rows_merge deliveries = {.out = tables->deliveries},
                      requests = {.out = tables->requests, .is_requests = true};
    int result = 0;

    for (char **folder = options->files; *folder != NULL && result == 0; folder++) {
        result = merge_table(&deliveries, *folder, ROWS_DELIVERIES, error);
        if (result == 0)
            result = merge_table(&requests, *folder, ROWS_REQUESTS, error);
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
        result = merge_folders(options, &tables, error);
    if (result == 0)
        result = rows_tables_finish(&tables, error);
    rows_tables_close(&tables);
    return result;
}
