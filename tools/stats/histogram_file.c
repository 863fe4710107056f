/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/histogram_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json/json_text.h"
#include "base/json/scan.h"
#include "base/number.h"
#include "base/output/output_file.h"
#include "slog/read/reader.h"
#include "tools/stats/growth.h"

/* The first version has no growth, and is still written where there is none. */
enum { VERSION_GROUPS = 1, VERSION = 2 };

/* ---- writing ------------------------------------------------------------ */

static void field(struct buf *out, const char *name, uint64_t number)
{
    buf_printf(out, ",\"%s\":%" PRIu64, name, number);
}

static void field_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    json_text_string(out, text, strlen(text));
}

static void append_column(struct buf *out, const struct group *group, enum group_column column)
{
    const struct histogram *histogram = &group->columns[column];

    buf_append_string(out, "{\"kind\":\"histogram\"");
    field_text(out, "by", group_kind_name(group->kind));
    field_text(out, "name", group->name);
    field_text(out, "label", group->label);
    field_text(out, "column", group_column_name(column));
    field(out, "count", histogram->count);
    field(out, "total", histogram->total);
    field(out, "min", histogram->minimum);
    field(out, "max", histogram->maximum);
    buf_append_string(out, ",\"buckets\":[");
    for (size_t i = 0; i < histogram->bucket_count; i++)
        buf_printf(out, "%s[%" PRIu32 ",%" PRIu64 "]", i == 0 ? "" : ",",
                   histogram->buckets[i].index, histogram->buckets[i].count);
    buf_append_string(out, "]}\n");
}

static void append_first_line(struct buf *out, const struct groups *groups,
                              const struct growth *growth)
{
    const int64_t begin = growth_file_begin(growth);
    const bool grows = begin != INT64_MAX;

    buf_printf(out, "{\"kind\":\"slog-histograms\",\"version\":%d,\"spoiled\":%" PRIu64,
               grows ? VERSION : VERSION_GROUPS, groups->spoiled);
    if (grows)
        buf_printf(out, ",\"begin\":%" PRId64, begin);
    buf_append_string(out, "}\n");
}

static void append_groups(struct buf *out, const struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        for (int column = 0; column < GROUP_COLUMNS; column++) {
            if (groups->groups[i].columns[column].count > 0)
                append_column(out, &groups->groups[i], (enum group_column)column);
        }
    }
}

int histogram_file_write(const char *path, const struct groups *groups, const struct growth *growth,
                         struct error *error)
{
    struct buf text = {0};
    int result;

    append_first_line(&text, groups, growth);
    append_groups(&text, groups);
    for (size_t i = 0; i < growth->vat_count; i++)
        if (growth->vats[i].point_count > 0)
            growth_file_put(growth, i, &text);
    result = output_file_write_whole(path, "the histograms", &text, error);
    buf_free(&text);
    return result;
}

/* ---- reading ------------------------------------------------------------ */

static bool get_number(struct scan_span line, const char *name, uint64_t *number)
{
    struct scan_span value = scan_get(line, name);
    const char *at = value.at;

    /* Behind a value stands what ends it, or the line's end. */
    return value.length > 0 && number_take(&at, number) && at == value.at + value.length;
}

/* A string as a C string, owned by *text; NULL when there is none. */
static const char *get_text(struct scan_span line, const char *name, struct buf *text)
{
    struct scan_span value = scan_string(scan_get(line, name));

    buf_clear(text);
    if (value.at == NULL)
        return NULL;
    scan_unescape(value, text);
    return buf_string(text);
}

/* The kind of this name; -1 when it is none. */
static int find_kind(struct scan_span name)
{
    for (int kind = 0; kind < GROUP_KINDS; kind++) {
        if (scan_is(name, group_kind_name((enum group_kind)kind)))
            return kind;
    }
    return -1;
}

static int find_column(struct scan_span name)
{
    for (int column = 0; column < GROUP_COLUMNS; column++) {
        if (scan_is(name, group_column_name((enum group_column)column)))
            return column;
    }
    return -1;
}

static bool read_bucket(struct scan_span pair, struct histogram *histogram)
{
    struct scan_span index, count;
    struct scan_cursor cursor;
    int64_t index_number, count_number;

    return scan_open(pair, '[', &cursor) && scan_element(&cursor, &index) == SCAN_FOUND &&
           scan_element(&cursor, &count) == SCAN_FOUND && scan_decimal(index, 0, &index_number) &&
           scan_decimal(count, 0, &count_number) && index_number >= 0 &&
           index_number < HISTOGRAM_INDICES && count_number > 0 &&
           histogram_add_bucket(histogram, (uint32_t)index_number, (uint64_t)count_number) == 0;
}

/* False when something is missing, or the buckets are not as many as `count` says. */
static bool read_histogram(struct scan_span line, struct histogram *histogram)
{
    struct scan_cursor cursor;
    struct scan_span pair;
    uint64_t in_buckets = 0;

    if (!get_number(line, "count", &histogram->count) ||
        !get_number(line, "total", &histogram->total) ||
        !get_number(line, "min", &histogram->minimum) ||
        !get_number(line, "max", &histogram->maximum) ||
        !scan_open(scan_get(line, "buckets"), '[', &cursor))
        return false;
    while (scan_element(&cursor, &pair) == SCAN_FOUND) {
        if (!read_bucket(pair, histogram))
            return false;
    }
    for (size_t i = 0; i < histogram->bucket_count; i++)
        in_buckets += histogram->buckets[i].count;
    return in_buckets == histogram->count && histogram->count > 0;
}

static int bad_line(const char *path, const struct reader_line *line, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s:%" PRIu64 ": %s", path, line->number,
                     scan_has_bom(line->bytes, line->length)
                         ? SCAN_BOM_WHY
                         : "not a line written by slogreport --histograms");
}

/* What a file is added to. */
struct sums {
    struct groups *groups;
    struct growth *growth; /* NULL: it is not wanted */
};

static int join_line(const char *path, const struct reader_line *line, struct growth *growth,
                     struct error *error)
{
    const struct scan_span json = {line->bytes, line->length};

    if (growth == NULL || growth_file_take(growth, json) == 0)
        return 0;
    return bad_line(path, line, error);
}

static int merge_line(const char *path, const struct reader_line *line, const struct sums *sums,
                      struct error *error)
{
    struct scan_span json = {line->bytes, line->length};
    struct groups *groups = sums->groups;
    int kind = find_kind(scan_string(scan_get(json, "by")));
    int column = find_column(scan_string(scan_get(json, "column")));
    struct histogram histogram = {0};
    struct buf name = {0}, label = {0};
    struct group *group;
    int result = 0;

    if (scan_is(scan_string(scan_get(json, "kind")), "growth"))
        return join_line(path, line, sums->growth, error);
    if (kind < 0 || column < 0 || get_text(json, "name", &name) == NULL ||
        get_text(json, "label", &label) == NULL || !read_histogram(json, &histogram)) {
        result = bad_line(path, line, error);
    } else if (groups->wanted[kind]) {
        group = groups_find(groups, (enum group_kind)kind, name.data, label.data);
        if (group == NULL || histogram_merge(&group->columns[column], &histogram) != 0)
            result = error_memory(error, "the histograms");
    }
    histogram_free(&histogram);
    buf_free(&label);
    buf_free(&name);
    return result;
}

static int check_first_line(const char *path, const struct reader_line *line, struct groups *groups,
                            struct error *error)
{
    struct scan_span json = {line->bytes, line->length};
    uint64_t version, spoiled;

    if (!scan_is(scan_string(scan_get(json, "kind")), "slog-histograms") ||
        !get_number(json, "version", &version) || !get_number(json, "spoiled", &spoiled))
        return error_set(error, ERROR_INPUT, "%s: %s", path,
                         scan_has_bom(line->bytes, line->length)
                             ? SCAN_BOM_WHY
                             : "not a file written by slogreport --histograms");
    if (version < VERSION_GROUPS || version > VERSION)
        return error_set(error, ERROR_INPUT,
                         "%s: histograms of version %" PRIu64
                         "; this slogreport reads versions up to %d",
                         path, version, VERSION);
    groups->spoiled += spoiled;
    return 0;
}

static int read_lines(struct reader *reader, const char *path, const struct sums *sums,
                      struct error *error)
{
    struct reader_line line = {0};
    int got;

    while ((got = reader_next(reader, false, &line, error)) > 0) {
        if (line.torn || line.too_long)
            return bad_line(path, &line, error);
        got = line.number == 1 ? check_first_line(path, &line, sums->groups, error)
                               : merge_line(path, &line, sums, error);
        if (got < 0)
            return -1;
    }
    if (got == 0 && line.number == 0)
        return error_set(error, ERROR_INPUT, "%s: is empty", path);
    return got;
}

int histogram_file_read(const char *path, struct groups *groups, struct growth *growth,
                        struct error *error)
{
    const struct sums sums = {.groups = groups, .growth = growth};
    struct reader *reader = reader_open(path, error);
    int result;

    if (reader == NULL)
        return -1;
    result = read_lines(reader, path, &sums, error);
    reader_close(reader);
    return result;
}

bool histogram_file_begin(const char *path, int64_t *time)
{
    struct error ignored;
    struct reader *reader = reader_open(path, &ignored);
    struct reader_line line = {0};
    bool found = false;

    if (reader == NULL)
        return false;
    if (reader_next(reader, false, &line, &ignored) > 0 && !line.torn && !line.too_long)
        found =
            scan_decimal(scan_get((struct scan_span){line.bytes, line.length}, "begin"), 0, time);
    reader_close(reader);
    return found;
}
