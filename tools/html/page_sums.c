/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/html/page_sums.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json/json_text.h"

enum { FINE_BUCKETS = 8 };

static void append_text(struct buf *json, const char *name, const char *text)
{
    buf_printf(json, ",\"%s\":", name);
    json_text_string(json, text, strlen(text));
}

/* Eight buckets of the histogram make one of the page's. */
static void append_buckets(struct buf *json, const struct histogram *histogram)
{
    buf_append_byte(json, '[');
    for (size_t i = 0; i < histogram->bucket_count;) {
        uint32_t number = histogram->buckets[i].index / FINE_BUCKETS;
        uint64_t count = 0;

        buf_printf(json, "%s[%" PRIu32 ",", i > 0 ? "," : "", number);
        for (; i < histogram->bucket_count && histogram->buckets[i].index / FINE_BUCKETS == number;
             i++)
            count += histogram->buckets[i].count;
        buf_printf(json, "%" PRIu64 "]", count);
    }
    buf_append_byte(json, ']');
}

static void append_column(struct buf *json, enum group_column column,
                          const struct histogram *histogram)
{
    buf_printf(json, "\"%s\":[%" PRIu64 ",%" PRIu64, group_column_name(column), histogram->count,
               histogram->total);
    buf_printf(json, ",%" PRIu64 ",%" PRIu64, histogram_quantile(histogram, 0.5),
               histogram_quantile(histogram, 0.9));
    buf_printf(json, ",%" PRIu64 ",%" PRIu64 ",", histogram_quantile(histogram, 0.99),
               histogram->maximum);
    append_buckets(json, histogram);
    buf_append_byte(json, ']');
}

static void append_group(struct buf *json, const struct group *group)
{
    bool any = false;

    buf_printf(json, "{\"by\":\"%s\"", group_kind_name(group->kind));
    append_text(json, "name", group->name);
    append_text(json, "label", group->label);
    buf_append_string(json, ",\"columns\":{");
    for (int column = 0; column < GROUP_COLUMNS; column++) {
        if (group->columns[column].count == 0)
            continue;
        if (any)
            buf_append_byte(json, ',');
        append_column(json, (enum group_column)column, &group->columns[column]);
        any = true;
    }
    buf_append_string(json, "}}");
}

void page_sums_append_groups(struct buf *json, const struct groups *groups)
{
    buf_append_byte(json, '[');
    for (size_t i = 0; i < groups->count; i++) {
        if (i > 0)
            buf_append_byte(json, ',');
        append_group(json, &groups->groups[i]);
    }
    buf_append_byte(json, ']');
}

static void append_integer(struct buf *json, const char *name, int64_t number)
{
    if (number == MODEL_NONE)
        buf_printf(json, ",\"%s\":null", name);
    else
        buf_printf(json, ",\"%s\":%" PRId64, name, number);
}

static void append_number(struct buf *json, const char *name, double number)
{
    if (isfinite(number))
        buf_printf(json, ",\"%s\":%.17g", name, number);
    else
        buf_printf(json, ",\"%s\":null", name);
}

static void append_stall(struct buf *json, const struct outlier *stall, int64_t zero)
{
    const char *words = stall->words.data;
    int64_t start;

    if (__builtin_sub_overflow(stall->start, zero, &start))
        start = MODEL_NONE;
    buf_printf(json, "{\"kind\":%d", (int)stall->kind);
    append_integer(json, "took", stall->took);
    append_integer(json, "usual", stall->usual);
    append_integer(json, "like", (int64_t)stall->like);
    append_integer(json, "start", start);
    append_integer(json, "line", (int64_t)stall->line);
    append_integer(json, "crank", stall->crank_num);
    append_integer(json, "number", stall->delivery_num);
    append_number(json, "size", stall->size);
    append_text(json, "work",
                stall->kind != MODEL_WORKER ? "bytes"
                : stall->instructions       ? "instructions"
                                            : "computrons");
    append_number(json, "cpu", stall->kind == MODEL_WORKER ? stall->cpu : NAN);
    append_text(json, "vat", words);
    append_text(json, "text", words + stall->description);
    append_text(json, "syscall", words + stall->syscall);
    buf_append_byte(json, '}');
}

void page_sums_append_stalls(struct buf *json, struct outlier *const *stalls, size_t count,
                             int64_t zero)
{
    buf_append_byte(json, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_append_byte(json, ',');
        append_stall(json, stalls[i], zero);
    }
    buf_append_byte(json, ']');
}
