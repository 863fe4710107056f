/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "supervisor/replay/source/source.h"

/* How long a node may hold a lock, in milliseconds. */
enum { BUSY_MS = 10000 };

struct swing_source {
    struct replay_source source;
    struct buf path;
    const struct source_selection *selection;
    sqlite3 *database;
    sqlite3_stmt *item; /* of a vat at a position */
    struct swing_spans spans;
    size_t span;         /* the current one */
    int64_t position;    /* in it, of the next item; -1: at its beginning */
    const char *created; /* the vat that was reported last; NULL: none */
    struct recorded_delivery delivery;
};

/* ---- SQL ---- */

static int swing_source_fail(const struct swing_source *swing, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: %s", swing->source.name,
                     sqlite3_errmsg(swing->database));
}

/* A statement with one text bound, or none where it is NULL. NULL with ERROR_INPUT. */
static sqlite3_stmt *prepare_swing_query(struct swing_source *swing, const char *sql,
                                         const char *text, size_t length, struct error *error)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(swing->database, sql, -1, &statement, NULL) == SQLITE_OK &&
        (text == NULL ||
         sqlite3_bind_text(statement, 1, text, (int)length, SQLITE_TRANSIENT) == SQLITE_OK))
        return statement;
    swing_source_fail(swing, error);
    sqlite3_finalize(statement);
    return NULL;
}

/* Appends the first column of the one row, if there is one. */
static int read_value(struct swing_source *swing, const char *sql, const char *key, size_t length,
                      struct buf *value, bool *found, struct error *error)
{
    sqlite3_stmt *statement = prepare_swing_query(swing, sql, key, length, error);
    int step, result = 0;

    if (statement == NULL)
        return -1;
    step = sqlite3_step(statement);
    *found = step == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL;
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        result = swing_source_fail(swing, error);
    else if (*found && buf_append(value, sqlite3_column_blob(statement, 0),
                                  (size_t)sqlite3_column_bytes(statement, 0)) != 0)
        result = error_memory(error, "a row of a swing-store");
    sqlite3_finalize(statement);
    return result;
}

/* ---- spans ---- */

static void free_span(struct swing_span *span)
{
    free(span->vat_id);
    free(span->name);
    free(span->snapshot);
}

/* A column's text, to be freed; NULL: it is null. */
static int copy_column_text(sqlite3_stmt *row, int column, char **copy)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    *copy = text != NULL ? strdup(text) : NULL;
    return text != NULL && *copy == NULL ? -1 : 0;
}

static bool is_span_wanted(const struct source_selection *selection, const struct swing_span *span)
{
    bool wanted = selection->vat_count == 0;

    for (size_t i = 0; i < selection->vat_count; i++)
        wanted = wanted || strcmp(selection->vats[i], span->vat_id) == 0 ||
                 (span->name != NULL && strcmp(selection->vats[i], span->name) == 0);
    return wanted && (selection->span < 0 || selection->span == span->start) &&
           span->end > selection->from && span->start <= selection->to;
}

/* -1 if a text could not be copied: the row is damaged, or out of memory. */
static int take_span_row(struct swing_source *swing, sqlite3_stmt *row)
{
    struct swing_spans *spans = &swing->spans;
    struct swing_span *all =
        array_reserve(spans->spans, &spans->capacity, spans->count + 1, sizeof *all);
    struct swing_span span = {
        .start = sqlite3_column_int64(row, 1),
        .end = sqlite3_column_int64(row, 2),
        .incarnation = sqlite3_column_int64(row, 3),
        .is_current = sqlite3_column_int64(row, 4) == 1,
        .snapshot_size = sqlite3_column_int64(row, 7),
        .is_local = sqlite3_column_int64(row, 9) == 1,
    };

    if (all == NULL)
        return -1;
    spans->spans = all;
    span.items = sqlite3_column_int(row, 5) != 0 ? span.end - span.start : 0;
    if (copy_column_text(row, 0, &span.vat_id) != 0 ||
        copy_column_text(row, 6, &span.snapshot) != 0 ||
        copy_column_text(row, 8, &span.name) != 0 || span.vat_id == NULL) {
        free_span(&span);
        return -1;
    }
    if (is_span_wanted(swing->selection, &span))
        all[spans->count++] = span;
    else
        free_span(&span);
    return 0;
}

/* Items are pruned by whole spans: the first one shows it for all. */
static int read_spans(struct swing_source *swing, struct error *error)
{
    static const char sql[] =
        "SELECT s.vatID, s.startPos, s.endPos, s.incarnation, s.isCurrent,"
        " EXISTS (SELECT 1 FROM transcriptItems i"
        "         WHERE i.vatID = s.vatID AND i.position = s.startPos),"
        " n.hash, length(n.compressedSnapshot),"
        " CASE WHEN json_valid(k.value) THEN json_extract(k.value, '$.name') END,"
        " CASE WHEN json_valid(k.value)"
        "      THEN json_extract(k.value, '$.workerOptions.type') = 'local' END"
        " FROM transcriptSpans s"
        " LEFT JOIN snapshots n ON n.vatID = s.vatID AND n.snapPos = s.startPos - 1"
        " LEFT JOIN kvStore k ON k.key = s.vatID || '.options'"
        " ORDER BY CAST(substr(s.vatID, 2) AS INTEGER), s.vatID, s.startPos";
    sqlite3_stmt *rows = prepare_swing_query(swing, sql, NULL, 0, error);
    int step = SQLITE_DONE, result = 0;

    if (rows == NULL)
        return -1;
    while (result == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW)
        result = take_span_row(swing, rows);
    if (result != 0)
        error_memory(error, "the spans of a swing-store");
    else if (step != SQLITE_DONE)
        result = swing_source_fail(swing, error);
    sqlite3_finalize(rows);
    return result;
}

/* ---- events ---- */

static struct scan_span swing_text_span(const char *text)
{
    return text != NULL ? (struct scan_span){text, strlen(text)} : (struct scan_span){0};
}

static void put_swing_create(struct swing_source *swing, const struct swing_span *span,
                             struct source_event *event)
{
    event->kind = SOURCE_CREATE;
    event->name = swing_text_span(span->name);
    event->manager_type = swing_text_span(span->is_local ? "local" : NULL);
    swing->created = span->vat_id;
}

static int read_item(struct swing_source *swing, const struct swing_span *span, struct error *error)
{
    struct buf *text = &swing->delivery.text;
    int result = 0;

    buf_clear(text);
    sqlite3_reset(swing->item);
    if (sqlite3_bind_text(swing->item, 1, span->vat_id, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_int64(swing->item, 2, swing->position) != SQLITE_OK)
        return swing_source_fail(swing, error);
    switch (sqlite3_step(swing->item)) {
    case SQLITE_ROW:
        if (buf_append(text, sqlite3_column_blob(swing->item, 0),
                       (size_t)sqlite3_column_bytes(swing->item, 0)) != 0)
            result = error_memory(error, "a transcript");
        break;
    case SQLITE_DONE:
        result = error_set(error, ERROR_INPUT, "%s: the transcript of %s lacks its item %" PRId64,
                           swing->source.name, span->vat_id, swing->position);
        break;
    default:
        result = swing_source_fail(swing, error);
    }
    /* So that no lock is held between two items. */
    sqlite3_reset(swing->item);
    return result;
}

static int put_item(struct swing_source *swing, const struct swing_span *span,
                    struct source_event *event, struct error *error)
{
    event->line = (uint64_t)swing->position;
    event->delivery_num = swing->position;
    if (read_item(swing, span, error) != 0)
        return -1;
    if (recorded_delivery_parse(&swing->delivery, event->line, error) != 0)
        return error_prefix(error, "%s: %s: item %" PRId64, swing->source.name, span->vat_id,
                            swing->position);
    swing->position++;
    source_event_of_entry(event, &swing->delivery);
    return 0;
}

/* The span of the next item; NULL after the last. */
static const struct swing_span *next_span(struct swing_source *swing)
{
    const int64_t last = swing->selection->to;

    while (swing->span < swing->spans.count) {
        const struct swing_span *span = &swing->spans.spans[swing->span];

        if (swing->position < 0)
            swing->position = span->start;
        if (span->items > 0 && swing->position < span->end && swing->position <= last)
            return span;
        swing->span++;
        swing->position = -1;
    }
    return NULL;
}

static int swing_source_next(struct replay_source *source, struct source_event *event,
                             struct error *error)
{
    struct swing_source *swing = (struct swing_source *)source;
    const struct swing_span *span = next_span(swing);

    if (span == NULL)
        return 0;
    *event = (struct source_event){.vat_id = swing_text_span(span->vat_id),
                                   .delivery_num = RECORDED_NONE,
                                   .crank_num = RECORDED_NONE};
    if (swing->created == NULL || strcmp(swing->created, span->vat_id) != 0)
        put_swing_create(swing, span, event);
    else if (put_item(swing, span, event, error) != 0)
        return -1;
    return 1;
}

/* ---- snapshots and bundles ---- */

static int swing_source_read_snapshot(struct replay_source *source,
                                      const struct source_event *event, int fd, bool *found,
                                      struct error *error)
{
    struct swing_source *swing = (struct swing_source *)source;
    struct buf packed = {0};
    int result = read_value(swing,
                            "SELECT compressedSnapshot FROM snapshots"
                            " WHERE hash = ? AND compressedSnapshot IS NOT NULL",
                            event->hash.at, event->hash.length, &packed, found, error);

    if (result == 0 && *found)
        result =
            snapshot_bytes_copy(source->name, packed.data, packed.length, event->hash, fd, error);
    buf_free(&packed);
    return result;
}

static int swing_source_read_bundle(struct replay_source *source, struct scan_span id,
                                    struct buf *bundle, bool *found, struct error *error)
{
    struct buf kept = {0};
    int result =
        read_value((struct swing_source *)source, "SELECT bundle FROM bundles WHERE bundleID = ?",
                   id.at, id.length, &kept, found, error);

    if (result == 0 && *found)
        result = stored_bundle_put(id, &kept, bundle, error);
    buf_free(&kept);
    return result;
}

/* ---- opening ---- */

static void swing_source_close(struct replay_source *source)
{
    struct swing_source *swing = (struct swing_source *)source;

    for (size_t i = 0; i < swing->spans.count; i++)
        free_span(&swing->spans.spans[i]);
    free(swing->spans.spans);
    sqlite3_finalize(swing->item);
    (void)sqlite3_close(swing->database); /* was only read */
    recorded_delivery_free(&swing->delivery);
    buf_free(&swing->path);
    free(swing);
}

/* The file of the path, or the one in the directory that it is. */
static int find_swing_store(const char *path, struct buf *file)
{
    struct stat status;
    bool is_directory = stat(path, &status) == 0 && S_ISDIR(status.st_mode);

    return buf_printf(file, "%s%s", path, is_directory ? "/swingstore.sqlite" : "");
}

static int open_database(struct swing_source *swing, struct error *error)
{
    if (sqlite3_open_v2(swing->source.name, &swing->database, SQLITE_OPEN_READONLY, NULL) !=
            SQLITE_OK ||
        sqlite3_busy_timeout(swing->database, BUSY_MS) != SQLITE_OK)
        return swing_source_fail(swing, error);
    if (read_spans(swing, error) != 0)
        return -1;
    swing->item = prepare_swing_query(
        swing, "SELECT item FROM transcriptItems WHERE vatID = ? AND position = ?", NULL, 0, error);
    return swing->item != NULL ? 0 : -1;
}

struct replay_source *swing_source_open(const char *path, const struct source_selection *selection,
                                        struct error *error)
{
    static const struct source_operations operations = {
        .next = swing_source_next,
        .read_snapshot = swing_source_read_snapshot,
        .read_bundle = swing_source_read_bundle,
        .close = swing_source_close,
    };
    struct swing_source *swing = calloc(1, sizeof *swing);

    if (swing == NULL) {
        error_memory(error, "reading a swing-store");
        return NULL;
    }
    swing->source.operations = &operations;
    swing->selection = selection;
    swing->position = -1;
    (void)find_swing_store(path, &swing->path);
    swing->source.name = buf_string(&swing->path);
    if (swing->source.name == NULL)
        error_memory(error, "reading a swing-store");
    else if (open_database(swing, error) == 0)
        return &swing->source;
    swing_source_close(&swing->source);
    return NULL;
}

bool swing_source_is_one(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic] = "";
    struct buf file = {0};
    struct stat status;
    FILE *stream = NULL;
    bool is_one;

    (void)find_swing_store(path, &file);
    /* Nothing is taken out of a pipe here, nor waited for. */
    if (buf_string(&file) != NULL && stat(file.data, &status) == 0 && S_ISREG(status.st_mode))
        stream = fopen(file.data, "re");
    is_one = stream != NULL && fread(head, 1, sizeof magic, stream) == sizeof magic &&
             memcmp(head, magic, sizeof magic) == 0;
    if (stream != NULL)
        (void)fclose(stream); /* was only read */
    buf_free(&file);
    return is_one;
}

const struct swing_spans *swing_source_spans(const struct replay_source *source)
{
    return &((const struct swing_source *)source)->spans;
}

int swing_source_bundles(struct replay_source *source,
                         void (*each)(void *context, const char *id, int64_t size), void *context,
                         struct error *error)
{
    struct swing_source *swing = (struct swing_source *)source;
    sqlite3_stmt *rows = prepare_swing_query(
        swing, "SELECT bundleID, length(bundle) FROM bundles ORDER BY bundleID", NULL, 0, error);
    int step;

    if (rows == NULL)
        return -1;
    while ((step = sqlite3_step(rows)) == SQLITE_ROW)
        each(context, (const char *)sqlite3_column_text(rows, 0), sqlite3_column_int64(rows, 1));
    if (step != SQLITE_DONE)
        swing_source_fail(swing, error);
    sqlite3_finalize(rows);
    return step == SQLITE_DONE ? 0 : -1;
}
