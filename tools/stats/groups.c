/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/groups.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json/json_member.h"
#include "base/json/scan.h"
#include "base/number.h"
#include "base/output/output_file.h"
#include "slog/read/reader.h"
#include "tools/stats/growth.h"

static const char *const kind_names[GROUP_KINDS] = {
    [GROUP_ALL] = "all",       [GROUP_REPLAY] = "replay",   [GROUP_VAT] = "vat",
    [GROUP_KIND] = "kind",     [GROUP_SYSCALL] = "syscall", [GROUP_BLOCK] = "block",
    [GROUP_METHOD] = "method", [GROUP_RUN] = "run",         [GROUP_PHASE] = "phase",
    [GROUP_GROWTH] = "growth",
};

static const char *const column_names[GROUP_COLUMNS] = {
    [COLUMN_TOTAL] = "total",
    [COLUMN_UP] = "up",
    [COLUMN_DOWN] = "down",
    [COLUMN_WORKER] = "worker",
    [COLUMN_KERNEL] = "kernel",
    [COLUMN_UNATTRIBUTED] = "unattributed",
    [COLUMN_CPU_WAIT] = "cpuWait",
    [COLUMN_WORKER_CPU_WAIT] = "workerCpuWait",
    [COLUMN_BETWEEN] = "between",
    [COLUMN_COMPUTE] = "compute",
    [COLUMN_INSTRUCTIONS] = "instructions",
    [COLUMN_BLOCK_COST] = "blockCost",
    [COLUMN_GAS_BURNT] = "gasBurnt",
    [COLUMN_QUEUED] = "queued",
    [COLUMN_GAS] = "gas",
    [COLUMN_RATIO] = "instructionsPerComputron",
};

const char *group_kind_name(enum group_kind kind)
{
    return kind_names[kind];
}

const char *group_column_name(enum group_column column)
{
    return column_names[column];
}

double group_ratio(const struct group *group)
{
    const struct histogram *ratio = &group->columns[COLUMN_RATIO];
    const struct histogram *compute = &group->columns[COLUMN_COMPUTE];
    const struct histogram *instructions = &group->columns[COLUMN_INSTRUCTIONS];

    if (ratio->count == 0 || ratio->count != compute->count || ratio->count != instructions->count)
        return NAN;
    return (double)instructions->total / (double)compute->total;
}

static int init_group(struct group *group, enum group_kind kind, const char *name)
{
    *group = (struct group){.kind = kind, .name = strdup(name), .label = strdup("")};
    if (group->name != NULL && group->label != NULL)
        return 0;
    free(group->name);
    free(group->label);
    return -1;
}

/* The first label that is not empty stays. */
static int label_group(struct group *group, const char *label)
{
    char *copy;

    if (group->label[0] != '\0' || label[0] == '\0')
        return 0;
    copy = strdup(label);
    if (copy == NULL)
        return -1;
    free(group->label);
    group->label = copy;
    return 0;
}

/* `label` may be NULL: the key has none then. */
static int groups_number_of(struct groups *groups, enum group_kind kind, const char *name,
                            const char *label, uint32_t *number)
{
    struct buf *key = &groups->key;

    buf_clear(key);
    buf_append_byte(key, (char)('a' + kind));
    buf_append_string(key, name);
    if (label != NULL) {
        buf_append_byte(key, '\0');
        buf_append_string(key, label);
    }
    *number = buf_failed(key) ? NAMES_NONE : names_intern(&groups->keys, key->data, key->length);
    return *number == NAMES_NONE ? -1 : 0;
}

/* The group of this number, added if it is new. */
static struct group *group_of(struct groups *groups, uint32_t number, enum group_kind kind,
                              const char *name)
{
    struct group *array;

    if (number < groups->count)
        return &groups->groups[number];
    array = array_reserve(groups->groups, &groups->capacity, groups->count + 1, sizeof *array);
    if (array == NULL)
        return NULL;
    groups->groups = array;
    if (init_group(&array[number], kind, name) != 0)
        return NULL;
    groups->count++;
    return &array[number];
}

/*
 * Finds or adds the group of this name; NULL when out of memory. Another label means another
 * group; "" matches any.
 */
static struct group *groups_find(struct groups *groups, enum group_kind kind, const char *name,
                                 const char *label)
{
    struct group *group;
    uint32_t number;

    if (groups_number_of(groups, kind, name, NULL, &number) != 0)
        return NULL;
    group = group_of(groups, number, kind, name);
    if (group == NULL)
        return NULL;
    if (label[0] != '\0' && group->label[0] != '\0' && strcmp(group->label, label) != 0) {
        if (groups_number_of(groups, kind, name, label, &number) != 0)
            return NULL;
        group = group_of(groups, number, kind, name);
    }
    return group != NULL && label_group(group, label) == 0 ? group : NULL;
}

/* A delivery's value in each column; MODEL_NONE if it has none. */
struct values {
    int64_t of[GROUP_COLUMNS];
    struct model_waits waits;
};

static int64_t whole_number(double number)
{
    return isnan(number) || number < 0 || number >= 0x1p63 ? MODEL_NONE : (int64_t)number;
}

static int64_t ratio_of(const struct model_delivery *delivery)
{
    if (!(delivery->compute > 0))
        return MODEL_NONE;
    return whole_number(round(delivery->instructions / delivery->compute * GROUP_RATIO_SCALE));
}

static void sum_pipe(const struct model_delivery *delivery, struct values *values)
{
    int64_t up = 0, down = 0;

    if (delivery->pipe == MODEL_NONE)
        return;
    for (size_t i = 0; i < delivery->span_count; i++) {
        const struct model_span *span = &delivery->spans[i];

        if (span->kind == MODEL_UP || span->kind == MODEL_RETURN)
            up += span->to - span->from;
        else if (span->kind == MODEL_SEND || span->kind == MODEL_DOWN)
            down += span->to - span->from;
    }
    values->of[COLUMN_UP] = up;
    values->of[COLUMN_DOWN] = down;
}

static struct values values_of(const struct model_delivery *delivery)
{
    struct values values = {.of = {
                                [COLUMN_TOTAL] = delivery->total,
                                [COLUMN_UP] = MODEL_NONE,
                                [COLUMN_DOWN] = MODEL_NONE,
                                [COLUMN_WORKER] = delivery->worker,
                                [COLUMN_KERNEL] = delivery->kernel,
                                [COLUMN_UNATTRIBUTED] = delivery->unattributed,
                                [COLUMN_CPU_WAIT] = delivery->cpu_wait,
                                [COLUMN_WORKER_CPU_WAIT] = delivery->worker_cpu_wait,
                                [COLUMN_BETWEEN] = delivery->between,
                                [COLUMN_COMPUTE] = whole_number(delivery->compute),
                                [COLUMN_INSTRUCTIONS] = whole_number(delivery->instructions),
                                [COLUMN_BLOCK_COST] = whole_number(delivery->block_cost),
                                [COLUMN_GAS_BURNT] = whole_number(delivery->gas_burnt),
                                [COLUMN_QUEUED] = delivery->queued,
                                [COLUMN_GAS] = whole_number(delivery->gas),
                                [COLUMN_RATIO] = ratio_of(delivery),
                            }};

    sum_pipe(delivery, &values);
    values.waits = model_waits_of(delivery);
    return values;
}

static int add_value(const struct groups *groups, struct histogram *column, uint64_t value)
{
    if (!groups->sums_only)
        return histogram_add(column, value);
    histogram_add_sum(column, value);
    return 0;
}

static int group_add_values(const struct groups *groups, struct group *group,
                            const struct values *values)
{
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        if (values->of[i] >= 0 &&
            add_value(groups, &group->columns[i], (uint64_t)values->of[i]) != 0)
            return -1;
    model_waits_add(&group->waits, &values->waits);
    return 0;
}

static int groups_add_to(struct groups *groups, enum group_kind kind, const char *name,
                         const char *label, const struct values *values)
{
    struct group *group;

    if (!groups->wanted[kind])
        return 0;
    group = groups_find(groups, kind, name, label);
    return group == NULL ? -1 : group_add_values(groups, group, values);
}

/* Makes a name of one or two words, valid until the next call; NULL when out of memory. */
static const char *groups_make_name(struct groups *groups, const char *first, const char *second)
{
    struct buf *name = &groups->name;

    buf_clear(name);
    buf_append_string(name, first);
    if (second[0] != '\0') {
        buf_append_byte(name, ' ');
        buf_append_string(name, second);
    }
    return buf_string(name);
}

static int add_to_kind(struct groups *groups, const struct model_delivery *delivery,
                       const struct values *values)
{
    const char *name = groups_make_name(groups, delivery->kind, delivery->method);

    return name == NULL ? -1 : groups_add_to(groups, GROUP_KIND, name, "", values);
}

static int add_to_method(struct groups *groups, const struct model_delivery *delivery,
                         const struct values *values)
{
    const char *name;

    if (delivery->method[0] == '\0')
        return 0;
    name = groups_make_name(groups, delivery->vat_id, delivery->method);
    return name == NULL ? -1
                        : groups_add_to(groups, GROUP_METHOD, name, delivery->vat_name, values);
}

static int add_to_number(struct groups *groups, enum group_kind kind, int64_t number,
                         const struct values *values)
{
    char name[24];

    if (!groups->wanted[kind] || number == MODEL_NONE)
        return 0;
    snprintf(name, sizeof name, "%" PRId64, number);
    return groups_add_to(groups, kind, name, "", values);
}

/* Adds a span of a syscall to the group of its kind. */
static int groups_add_span(struct groups *groups, const struct model_delivery *delivery,
                           const struct model_span *span)
{
    static const enum group_column columns[MODEL_SPAN_KINDS] = {
        [MODEL_UP] = COLUMN_UP, [MODEL_KERNEL] = COLUMN_KERNEL, [MODEL_DOWN] = COLUMN_DOWN};
    struct group *group;

    if (span->kind != MODEL_UP && span->kind != MODEL_KERNEL && span->kind != MODEL_DOWN)
        return 0;
    group = groups_find(groups, GROUP_SYSCALL, delivery->events[span->event].kind, "");
    if (group == NULL)
        return -1;
    return histogram_add(&group->columns[columns[span->kind]], (uint64_t)(span->to - span->from));
}

static int add_syscalls(struct groups *groups, const struct model_delivery *delivery)
{
    for (size_t i = 0; groups->wanted[GROUP_SYSCALL] && i < delivery->span_count; i++) {
        if (groups_add_span(groups, delivery, &delivery->spans[i]) != 0)
            return -1;
    }
    return 0;
}

static int add_live(struct groups *groups, const struct model_delivery *delivery,
                    const struct values *values)
{
    if (groups_add_to(groups, GROUP_ALL, "", "", values) != 0 ||
        groups_add_to(groups, GROUP_VAT, delivery->vat_id, delivery->vat_name, values) != 0 ||
        add_to_kind(groups, delivery, values) != 0 ||
        add_to_method(groups, delivery, values) != 0 ||
        add_to_number(groups, GROUP_RUN, (int64_t)delivery->run, values) != 0 ||
        add_to_number(groups, GROUP_BLOCK, delivery->block_height, values) != 0)
        return -1;
    return add_syscalls(groups, delivery);
}

int groups_add(struct groups *groups, const struct model_delivery *delivery, struct error *error)
{
    struct values values = values_of(delivery);
    int result;

    if (delivery->clock_changed) {
        groups->spoiled++;
        return 0;
    }
    if (delivery->replay)
        result = groups_add_to(groups, GROUP_REPLAY, "", "", &values);
    else
        result = add_live(groups, delivery, &values);
    return result == 0 && !groups->failed ? 0 : error_memory(error, "a summary");
}

/* The name of a run says what it ran: "run leftover". */
static int add_phase(struct groups *groups, const struct phase_span *span)
{
    const char *name = groups_make_name(groups, phase_name(span->phase), span->name);
    struct group *group = name == NULL ? NULL : groups_find(groups, GROUP_PHASE, name, "");

    return group == NULL ? -1
                         : add_value(groups, &group->columns[COLUMN_TOTAL], (uint64_t)span->own);
}

void groups_add_phase(struct groups *groups, const struct phase_span *span)
{
    if (groups->wanted[GROUP_PHASE] && span->own >= 0 && add_phase(groups, span) != 0)
        groups->failed = true;
}

static void group_clear(struct group *group)
{
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        histogram_free(&group->columns[i]);
}

void groups_free(struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        group_clear(&groups->groups[i]);
        free(groups->groups[i].name);
        free(groups->groups[i].label);
    }
    free(groups->groups);
    names_free(&groups->keys);
    buf_free(&groups->key);
    buf_free(&groups->name);
    *groups = (struct groups){0};
}

/* The first version has no growth, and is written without it. */
enum { VERSION_GROUPS = 1, VERSION = 2 };

/* ---- writing ------------------------------------------------------------ */

static void append_count_member(struct buf *out, const char *name, uint64_t number)
{
    buf_printf(out, ",\"%s\":%" PRIu64, name, number);
}

static void append_histogram(struct buf *out, const struct group *group, enum group_column column)
{
    const struct histogram *histogram = &group->columns[column];

    buf_append_string(out, "{\"kind\":\"histogram\"");
    json_member_text(out, "by", group_kind_name(group->kind));
    json_member_text(out, "name", group->name);
    json_member_text(out, "label", group->label);
    json_member_text(out, "column", group_column_name(column));
    append_count_member(out, "count", histogram->count);
    append_count_member(out, "total", histogram->total);
    append_count_member(out, "min", histogram->minimum);
    append_count_member(out, "max", histogram->maximum);
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
                append_histogram(out, &groups->groups[i], (enum group_column)column);
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

    /* A value is followed by what ends it, or by padding. */
    return value.length > 0 && number_take(&at, number) && at == value.at + value.length;
}

/* A string as a C string, owned by *text; NULL if absent. */
static const char *get_text(struct scan_span line, const char *name, struct buf *text)
{
    struct scan_span value = scan_string(scan_get(line, name));

    buf_clear(text);
    if (value.at == NULL)
        return NULL;
    scan_unescape(value, text);
    return buf_string(text);
}

/* The kind of this name; -1 if none. */
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

/* False if something is missing, or the buckets do not add up to `count`. */
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

static int bad_histogram_line(const char *path, const struct reader_line *line, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s:%" PRIu64 ": %s", path, line->number,
                     scan_has_bom(line->bytes, line->length)
                         ? SCAN_BOM_WHY
                         : "not a line written by slogreport --histograms");
}

/* A file is added to these. */
struct sums {
    struct groups *groups;
    struct growth *growth; /* NULL: not wanted */
};

static int join_line(const char *path, const struct reader_line *line, struct growth *growth,
                     struct error *error)
{
    const struct scan_span json = {line->bytes, line->length};

    if (growth == NULL || growth_file_take(growth, json) == 0)
        return 0;
    return bad_histogram_line(path, line, error);
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
        result = bad_histogram_line(path, line, error);
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

static int read_histogram_lines(struct reader *reader, const char *path, const struct sums *sums,
                                struct error *error)
{
    struct reader_line line = {0};
    int got;

    while ((got = reader_next(reader, false, &line, error)) > 0) {
        if (line.torn || line.too_long)
            return bad_histogram_line(path, &line, error);
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
    result = read_histogram_lines(reader, path, &sums, error);
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
