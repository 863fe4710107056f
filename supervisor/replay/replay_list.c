/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/io.h"
#include "base/json/json_text.h"
#include "base/visible.h"
#include "slog/model/describe.h"
#include "supervisor/replay/replay_bundle.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/source/source.h"

enum { HASH_SHOWN = 12 };

/* A listed span. Texts are terminated and "" if missing. */
struct row {
    struct buf vat_id, name;
    struct buf beginning;  /* the snapshot's SHA-256; "": a bundle */
    int64_t incarnation;   /* -1: not known */
    int64_t from, to;      /* numbers of its first delivery and of the one after its last */
    int64_t items;         /* that are there */
    bool current, missing; /* `missing`: what it begins with */
};

struct list {
    const struct replay_options *options;
    struct replay_bundles bundles; /* that the user gives */
    struct row *rows;
    size_t count, capacity;
};

/* ---- gathering ---- */

static struct row *add_list_row(struct list *list)
{
    struct row *rows = array_reserve(list->rows, &list->capacity, list->count + 1, sizeof *rows);

    if (rows == NULL)
        return NULL;
    list->rows = rows;
    rows[list->count] = (struct row){.incarnation = -1, .from = -1};
    return &rows[list->count++];
}

static void replay_list_put(struct buf *text, const char *words)
{
    if (words != NULL)
        describe_string((struct scan_span){words, strlen(words)}, text);
}

static int gather_spans(struct list *list, const struct swing_spans *spans)
{
    for (size_t i = 0; i < spans->count; i++) {
        const struct swing_span *span = &spans->spans[i];
        struct row *row = add_list_row(list);

        if (row == NULL)
            return -1;
        replay_list_put(&row->vat_id, span->vat_id);
        replay_list_put(&row->name, span->name);
        replay_list_put(&row->beginning, span->snapshot);
        row->incarnation = span->incarnation;
        row->from = span->start;
        row->to = span->end;
        row->items = span->items;
        row->current = span->is_current;
        row->missing = span->snapshot != NULL && span->snapshot_size == 0;
    }
    return 0;
}

/* The last row of the vat; NULL: it has none. */
static struct row *find_row(struct list *list, struct scan_span vat_id)
{
    for (size_t i = list->count; i > 0; i--)
        if (list->rows[i - 1].vat_id.length == vat_id.length &&
            memcmp(list->rows[i - 1].vat_id.data, vat_id.at, vat_id.length) == 0)
            return &list->rows[i - 1];
    return NULL;
}

/* A row for what begins with this event, unless the last one is still empty. */
static struct row *begin_row(struct list *list, const struct source_event *event)
{
    struct row *last = find_row(list, event->vat_id), *row;
    size_t index = last != NULL ? (size_t)(last - list->rows) : 0;

    if (last != NULL && last->items == 0) {
        buf_clear(&last->beginning);
        return last;
    }
    row = add_list_row(list);
    if (row == NULL)
        return NULL;
    buf_append(&row->vat_id, event->vat_id.at, event->vat_id.length);
    if (last != NULL && list->rows[index].name.length > 0)
        buf_append(&row->name, list->rows[index].name.data, list->rows[index].name.length);
    row->missing = last != NULL ? list->rows[index].missing : true;
    return row;
}

/* ---- whether a span can begin ---- */

static int look_for_bundle(const struct list *list, struct replay_source *source,
                           struct scan_span id, bool *there, struct error *error)
{
    struct buf bundle = {0};
    int result = 0;

    *there = replay_bundles_find(&list->bundles, id) != NULL;
    if (!*there && source->operations->read_bundle != NULL)
        result = source->operations->read_bundle(source, id, &bundle, there, error);
    buf_free(&bundle);
    return result;
}

static int look_for_snapshot(const struct list *list, const struct source_event *event, bool *there,
                             struct error *error)
{
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int result;

    if (fd < 0)
        return error_system(error, errno, "/dev/null");
    result = snapshot_archive_copy(list->options->snapshots, event, fd, there, error);
    close(fd);
    return result;
}

/* A bundle or snapshot, unless the worker continues from the span before. */
static int look_for_beginning(const struct list *list, struct replay_source *source,
                              const struct source_event *event, struct row *row,
                              struct error *error)
{
    const bool is_create = event->kind == SOURCE_CREATE;
    bool there = !row->missing || (is_create && event->bundle.at != NULL);
    int result = 0;

    if ((is_create && event->bundle.at == NULL) ||
        (event->kind == SOURCE_START && event->bundle_id.at != NULL))
        result = look_for_bundle(list, source, event->bundle_id, &there, error);
    else if (event->kind == SOURCE_SNAPSHOT_LOADED && !there && list->options->snapshots != NULL)
        result = look_for_snapshot(list, event, &there, error);
    row->missing = !there;
    return result;
}

static int note_listed_event(struct list *list, struct replay_source *source,
                             const struct source_event *event, struct error *error)
{
    struct row *row = find_row(list, event->vat_id);

    switch (event->kind) {
    case SOURCE_CREATE:
        row = begin_row(list, event);
        if (row == NULL)
            return error_memory(error, "the list");
        buf_clear(&row->name);
        describe_string(event->name, &row->name);
        return look_for_beginning(list, source, event, row, error);
    case SOURCE_START:
    case SOURCE_SNAPSHOT_LOADED:
        row = begin_row(list, event);
        if (row == NULL)
            return error_memory(error, "the list");
        buf_append(&row->beginning, event->hash.at, event->hash.length);
        return look_for_beginning(list, source, event, row, error);
    case SOURCE_DELIVERY:
        row = row != NULL ? row : begin_row(list, event);
        if (row == NULL)
            return error_memory(error, "the list");
        row->from = row->from < 0 ? event->delivery_num : row->from;
        row->to = event->delivery_num + 1;
        row->items++;
        return 0;
    default:
        return 0;
    }
}

static int gather_events(struct list *list, struct replay_source *source, struct error *error)
{
    struct source_event event;
    int result;

    while ((result = source->operations->next(source, &event, error)) == 1)
        if (note_listed_event(list, source, &event, error) != 0)
            return -1;
    return result;
}

/* ---- printing ---- */

/* Below 0: it is not known. */
static void replay_list_put_number(struct buf *out, const char *name, int64_t number)
{
    buf_printf(out, ",\"%s\":", name);
    if (number >= 0)
        json_text_integer(out, number);
    else
        buf_append_string(out, "null");
}

static void put_json_row(struct buf *out, struct row *row)
{
    const struct {
        const char *name;
        struct buf *text;
    } texts[] = {{"vatID", &row->vat_id}, {"vat", &row->name}, {"snapshot", &row->beginning}};

    buf_append_string(out, "{\"kind\":\"span\"");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        buf_printf(out, ",\"%s\":", texts[i].name);
        if (i < 2 || texts[i].text->length > 0)
            json_text_string(out, texts[i].text->data, texts[i].text->length);
        else
            buf_append_string(out, "null");
    }
    replay_list_put_number(out, "incarnation", row->incarnation);
    replay_list_put_number(out, "from", row->from);
    replay_list_put_number(out, "to", row->from >= 0 ? row->to : -1);
    replay_list_put_number(out, "items", row->items);
    buf_printf(out, ",\"current\":%s,\"missing\":%s}\n", row->current ? "true" : "false",
               row->missing ? "true" : "false");
}

static void put_list_row(struct buf *out, struct row *row)
{
    buf_printf(out, "%-6s %-12s ", buf_string(&row->vat_id), buf_string(&row->name));
    if (row->incarnation >= 0)
        buf_printf(out, "%11" PRId64, row->incarnation);
    else
        buf_printf(out, "%11s", "-");
    if (row->from >= 0)
        buf_printf(out, " %9" PRId64 " %9" PRId64, row->from, row->to);
    else
        buf_printf(out, " %9s %9s", "-", "-");
    buf_printf(out, " %9" PRId64 "  ", row->items);
    if (row->beginning.length > 0)
        buf_printf(out, "snapshot %.*s", HASH_SHOWN, buf_string(&row->beginning));
    else
        buf_append_string(out, "bundle");
    buf_append_string(out, row->missing ? ", missing" : "");
    buf_append_string(out, row->items == 0 ? ", its items are missing" : "");
    buf_append_string(out, row->current ? ", current\n" : "\n");
}

struct bundle_sink {
    struct buf *out;
    bool json;
};

static void put_bundle(void *context, const char *id, int64_t size)
{
    const struct bundle_sink *sink = context;

    if (sink->json)
        buf_printf(sink->out, "{\"kind\":\"bundle\",\"id\":\"%.160s\",\"bytes\":%" PRId64 "}\n", id,
                   size);
    else if (size > 0)
        buf_printf(sink->out, "bundle %.*s %11" PRId64 " bytes\n", 3 + HASH_SHOWN, id, size);
    else
        buf_printf(sink->out, "bundle %.160s is missing\n", id);
}

static int replay_list_print(struct buf *out, struct list *list, bool json, struct error *error)
{
    struct buf rows = {0};
    int result = 0;

    if (!json)
        buf_printf(&rows, "%-6s %-12s %11s %9s %9s %9s  %s\n", "vat", "name", "incarnation", "from",
                   "to", "items", "begins with");
    for (size_t i = 0; i < list->count; i++)
        (json ? put_json_row : put_list_row)(&rows, &list->rows[i]);
    if (buf_failed(&rows) || buf_failed(out))
        result = error_memory(error, "the list");
    else if (visible_write(STDOUT_FILENO, rows.data, rows.length) != 0 ||
             visible_write(STDOUT_FILENO, out->data, out->length) != 0)
        result = io_fail_stdout("cannot write the list to stdout", error);
    buf_free(&rows);
    return result;
}

static int list_source(const struct replay_options *options, struct list *list, struct error *error)
{
    struct replay_source *source = replay_source_open(options, error);
    struct buf bundles = {0};
    struct bundle_sink sink = {.out = &bundles, .json = options->json};
    int result = -1;

    if (source == NULL)
        return -1;
    if (!replay_source_is_swing_store(options))
        result = gather_events(list, source, error);
    else if (gather_spans(list, swing_source_spans(source)) != 0)
        error_memory(error, "the list");
    else
        result = swing_source_bundles(source, put_bundle, &sink, error);
    if (result == 0)
        result = replay_list_print(&bundles, list, options->json, error);
    buf_free(&bundles);
    source->operations->close(source);
    return result;
}

int replay_list(const struct replay_options *options, struct error *error)
{
    struct list list = {.options = options};
    int result =
        replay_bundles_read(&list.bundles, options->bundles.items, options->bundles.count, error);

    if (result == 0)
        result = list_source(options, &list, error);

    for (size_t i = 0; i < list.count; i++) {
        buf_free(&list.rows[i].vat_id);
        buf_free(&list.rows[i].name);
        buf_free(&list.rows[i].beginning);
    }
    free(list.rows);
    replay_bundles_free(&list.bundles);
    return result;
}
