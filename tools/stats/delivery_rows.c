/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/delivery_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/visible.h"
#include "tools/output/output.h"

enum { WIDTH = 100, NAME_WIDTH = 10, METHOD_WIDTH = 12, TIME_WIDTH = 10 };

static bool is_narrow_column(void)
{
    const size_t width = visible_width(STDOUT_FILENO);

    return width > 0 && width < WIDTH;
}

bool delivery_rows_show(const char *column)
{
    static const char *const shown[] = {"crank",  "vat",      "name",         "method",
                                        "total",  "pipe",     "worker",       "kernel",
                                        "status", "syscalls", "unattributed", "start"};

    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (strcmp(column, shown[i]) == 0)
            return true;
    return false;
}

/* A word in a column. One that is too long is cut on a terminal; in a file it moves what follows.
 */
static void append_word(struct buf *out, const char *word, size_t width)
{
    const size_t length = strlen(word);
    const size_t shown = length > width && visible_width(STDOUT_FILENO) > 0 ? width : length;

    buf_append(out, word, shown);
    for (size_t column = shown; column < width; column++)
        buf_append_byte(out, ' ');
}

static void append_milliseconds(struct buf *out, int64_t nanoseconds)
{
    if (nanoseconds == MODEL_NONE)
        buf_printf(out, "%*s", TIME_WIDTH, "-");
    else
        buf_printf(out, "%*.3f", TIME_WIDTH, (double)nanoseconds / 1e6);
}

static bool is_time(const struct delivery_rows_extra *extra)
{
    static const char *const times[] = {"between", "queued", "cpuWait", "workerCpuWait"};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(extra->name, times[i]) == 0)
            return true;
    return false;
}

static void append_headings(struct buf *out, bool waits, const struct delivery_rows_extra *extra)
{
    buf_printf(out, " crank  %-*s %-*s  total ms   pipe ms worker ms kernel ms%s%s syscalls",
               NAME_WIDTH, "vat", METHOD_WIDTH, "method", waits ? " no CPU ms" : "",
               is_narrow_column() ? "" : " unattr. ms");
    if (extra->name != NULL)
        buf_printf(out, " %11s%s", extra->name, is_time(extra) ? " ms" : "   ");
    buf_append_string(out, is_narrow_column() ? "\n" : "  error\n");
}

static void append_extra(struct buf *out, const struct model_delivery *delivery,
                         const struct delivery_rows_extra *extra)
{
    const double value = extra->name != NULL ? extra->value(delivery) : 0;

    if (extra->name == NULL)
        return;
    if (isnan(value))
        buf_printf(out, " %14s", "-");
    else if (is_time(extra))
        buf_printf(out, " %14.3f", value / 1e6);
    else
        buf_printf(out, " %14.0f", value);
}

/* The times; the wait's are the entry's cell, which the table may leave out. */
static void append_times(struct rank_entry *entry, const struct model_delivery *delivery)
{
    const struct model_waits waits = model_waits_of(delivery);
    struct buf *out = &entry->text;

    append_milliseconds(out, delivery->total);
    append_milliseconds(out, model_without_wait(delivery->pipe, waits.up + waits.down));
    append_milliseconds(out, model_without_wait(delivery->worker, waits.worker));
    append_milliseconds(out, model_without_wait(delivery->kernel, waits.kernel));
    entry->waited = waits.by_gaspipe + waits.by_worker > 0;
    entry->cell = out->length;
    append_milliseconds(out, entry->waited ? waits.by_gaspipe + waits.by_worker : MODEL_NONE);
    entry->cell_end = out->length;
    if (!is_narrow_column()) {
        buf_append_byte(out, ' ');
        append_milliseconds(out, delivery->unattributed);
    }
}

void delivery_rows_render(struct rank_entry *entry, const struct model_delivery *delivery,
                          const struct delivery_rows_extra *extra)
{
    const char *name = delivery->vat_name[0] != '\0' ? delivery->vat_name : delivery->vat_id;
    struct buf *out = &entry->text;

    if (delivery->crank_num == MODEL_NONE)
        buf_printf(out, "%6s  ", delivery->replay ? "replay" : "-");
    else
        buf_printf(out, "%6" PRId64 "  ", delivery->crank_num);
    append_word(out, name, NAME_WIDTH);
    buf_append_byte(out, ' ');
    append_word(out, delivery->method[0] != '\0' ? delivery->method : delivery->kind, METHOD_WIDTH);
    append_times(entry, delivery);
    buf_printf(out, "%9zu", delivery->syscalls);
    append_extra(out, delivery, extra);
    if (!is_narrow_column() && delivery->status == MODEL_ERROR)
        buf_printf(out, "  %s", delivery->problem);
    buf_append_byte(out, '\n');
    entry->row_end = out->length;
}

int delivery_rows_append(struct buf *out, const struct rank *rank,
                         const struct delivery_rows_extra *extra, struct error *error)
{
    bool waits = false;

    for (size_t i = 0; i < rank->count && !is_narrow_column(); i++)
        waits = waits || rank->entries[i].waited;
    append_headings(out, waits, extra);
    for (size_t i = 0; i < rank->count; i++) {
        const struct rank_entry *entry = &rank->entries[i];
        const char *text = entry->text.data;

        buf_append(out, text, waits ? entry->cell_end : entry->cell);
        buf_append(out, text + entry->cell_end, entry->row_end - entry->cell_end);
        if (output_flush_if_much(out, error) != 0)
            return -1;
    }
    return 0;
}

const char *delivery_rows_rest(const struct rank_entry *entry, size_t *length)
{
    *length = entry->text.length - entry->row_end;
    return entry->text.data + entry->row_end;
}
