/* SPDX-License-Identifier: Apache-2.0 */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buf.h"
#include "slog/read/reader.h"
#include "slog/read/record.h"
#include "supervisor/replay/source/source.h"

/* ---- a line of a slogfile ---- */

/* One event in a vat's history, from a slogfile's line. */

enum slog_event_part {
    SLOG_EVENT_WHOLE,   /* an event; of SOURCE_DELIVERY the beginning: `json` is the VatDelivery */
    SLOG_EVENT_SYSCALL, /* the next ones continue it: `json` is the VatSyscall */
    SLOG_EVENT_ANSWER,  /* `json` is what the worker was answered */
    SLOG_EVENT_RESULT,  /* `result` */
    SLOG_EVENT_TROUBLE, /* the host could not finish the delivery, of which nothing stays */
};

struct slog_event {
    enum slog_event_part part;
    struct source_event event; /* of the other parts the vat only */
    struct scan_span json;
    struct recorded_result result;
};

/* ["ok",null,METER], ["error",WORDS,METER], ["error",WORDS,null] */
static bool slog_event_take_result(struct scan_span dr, struct recorded_result *result)
{
    struct scan_span status, meter;
    struct scan_cursor cursor;

    if (!scan_open(dr, '[', &cursor) || scan_element(&cursor, &status) != SCAN_FOUND ||
        scan_element(&cursor, &result->problem) != SCAN_FOUND ||
        scan_element(&cursor, &meter) != SCAN_FOUND)
        return false;
    result->status = scan_string(status);
    result->compute = recorded_integer(meter, "compute");
    result->allocate = recorded_integer(meter, "allocate");
    result->instructions = recorded_integer(meter, "instructions");
    result->limited = scan_is(scan_get(meter, "limited"), "true");
    return result->status.at != NULL;
}

/* Lines whose type the slog's model has no use for. */
static bool take_other_record(struct scan_span line, struct slog_event *part)
{
    struct scan_span type = scan_string(scan_get(line, "type"));
    struct source_event *event = &part->event;

    if (scan_is(type, "gaspipe-host-failure")) {
        part->part = SLOG_EVENT_TROUBLE;
    } else if (scan_is(type, "heap-snapshot-save")) {
        event->kind = SOURCE_SNAPSHOT_SAVED;
        event->hash = scan_string(scan_get(line, "snapshotID"));
    } else if (scan_is(type, "heap-snapshot-load")) {
        event->kind = SOURCE_SNAPSHOT_LOADED;
        event->hash = scan_string(scan_get(line, "hash"));
    } else if (scan_is(type, "terminate") || scan_is(type, "vat-cleanup")) {
        event->kind = SOURCE_TERMINATE;
    } else {
        return false;
    }
    return true;
}

static void take_create_line(struct scan_span line, struct source_event *event)
{
    event->kind = SOURCE_CREATE;
    event->bundle = scan_get(line, "vatSourceBundle");
    event->bundle_id = scan_string(scan_get(line, "vatSourceBundleID"));
    event->name = scan_string(scan_get(line, "name"));
    if (event->name.at == NULL) /* as Agoric's tools write it that extract transcripts */
        event->name = scan_string(scan_get(line, "vatName"));
    event->manager_type = scan_string(scan_get(line, "managerType"));
}

/* The crank that upgrades a vat, not the one before, which only queues it. */
static bool take_upgrade(struct scan_span line, struct source_event *event)
{
    struct scan_span message = scan_get(line, "message");

    if (!scan_is(scan_string(scan_get(line, "messageType")), "upgrade-vat") ||
        scan_is(scan_string(scan_get(line, "crankType")), "routing"))
        return false;
    event->kind = SOURCE_UPGRADE;
    event->vat_id = scan_string(scan_get(message, "vatID"));
    event->bundle_id = scan_string(scan_get(message, "bundleID"));
    return true;
}

/* A line of a delivery. False: a field that it needs is missing. */
static bool slog_event_take_part(struct slog_event *event, const struct record *record,
                                 struct scan_span line)
{
    switch (record->type) {
    case RECORD_DELIVER:
        event->event.kind = SOURCE_DELIVERY;
        event->event.replay = record->replay;
        event->json = record->vd;
        return event->json.at != NULL && record->delivery_num != RECORD_NONE;
    case RECORD_SYSCALL:
        event->part = SLOG_EVENT_SYSCALL;
        event->json = record->vsc;
        return event->json.at != NULL;
    case RECORD_SYSCALL_RESULT:
        event->part = SLOG_EVENT_ANSWER;
        event->json = scan_get(line, "vsr");
        return event->json.at != NULL;
    default:
        event->part = SLOG_EVENT_RESULT;
        event->result.refused = scan_get(line, "refused");
        return slog_event_take_result(record->dr, &event->result);
    }
}

/* 1, 0 or -1 as slog_event_read(). */
static int take_slog_record(struct slog_event *event, const struct record *record,
                            struct scan_span line)
{
    bool right = record->vat_id.at != NULL;

    switch (record->type) {
    case RECORD_SLOG_START:
        event->event.kind = SOURCE_SESSION;
        event->event.fingerprint = scan_string(scan_get(line, "fingerprint"));
        return 1;
    case RECORD_CREATE_VAT:
        take_create_line(line, &event->event);
        break;
    case RECORD_CRANK_START:
        if (!take_upgrade(line, &event->event))
            return 0;
        right = event->event.vat_id.at != NULL && event->event.bundle_id.at != NULL;
        break;
    case RECORD_START_REPLAY:
        event->event.kind = SOURCE_START;
        break;
    case RECORD_DELIVER:
    case RECORD_SYSCALL:
    case RECORD_SYSCALL_RESULT:
    case RECORD_DELIVER_RESULT:
        right = slog_event_take_part(event, record, line) && right;
        break;
    default:
        if (!take_other_record(line, event))
            return 0;
    }
    return right ? 1 : -1;
}

/* Numbers are handed on. NOLINTNEXTLINE(misc-redundant-expression): they are two names */
_Static_assert(RECORD_NONE == RECORDED_NONE, "both mean no number");

/* 1 for a relevant line, 0 for another; -1 for an invalid one, with *why in a few words (static
 * text). SCAN_PADDING bytes after it must be readable. */
static int slog_event_read(struct slog_event *event, struct scan_span line, const char **why)
{
    struct record record;

    if (!record_read_timeless(line.at, line.length, &record, why))
        return -1;
    *event = (struct slog_event){
        .event = {.vat_id = record.vat_id,
                  .delivery_num = record.delivery_num,
                  .crank_num = record.crank_num},
    };
    *why = "a line of its type has fields that this one has not, or of another kind";
    return take_slog_record(event, &record, line);
}

/* ---- files of lines ---- */

struct line_source {
    struct replay_source source;
    char *const *paths;
    size_t path_count, next_path;
    struct reader *reader;
    struct slog_event event; /* of the current line */
    bool pending;            /* that line is still to be taken */
    struct recorded_delivery delivery;
    struct buf delivery_vat; /* whose it is, of a slogfile */

    /* For a transcript: */
    struct buf vat_id;
    int64_t delivery_num; /* of the next entry */
};

static int line_source_refuse(const struct line_source *lines, uint64_t line, const char *why,
                              struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s:%" PRIu64 ": %s%s", lines->source.name, line,
                     line == 1 ? "not a slogfile or transcript: " : "", why);
}

/* ---- transcripts ---- */

/* The number that begins at `at` and ends at a dot or the end of the name. */
static bool read_position(const char *at, int64_t *number)
{
    return scan_decimal((struct scan_span){at, strcspn(at, ".")}, 0, number);
}

/* VATID.FIRST.END, and perhaps more. */
static bool read_span_name(const char *at, struct scan_span *vat_id, int64_t *first, int64_t *end)
{
    const char *dot = strchr(at, '.'), *last = dot != NULL ? strchr(dot + 1, '.') : NULL;

    *vat_id = (struct scan_span){at, dot != NULL ? (size_t)(dot - at) : 0};
    return last != NULL && vat_id->length > 1 && *at == 'v' && read_position(dot + 1, first) &&
           read_position(last + 1, end);
}

/* VATID.sst, and perhaps more: all of the vat. */
static bool read_whole_name(const char *at, struct scan_span *vat_id, int64_t *first, int64_t *end)
{
    const char *dot = strchr(at, '.');

    *vat_id = (struct scan_span){at, dot != NULL ? (size_t)(dot - at) : 0};
    *first = 0;
    *end = INT64_MAX;
    return vat_id->length > 1 && *at == 'v' && strspn(at + 1, "0123456789") == vat_id->length - 1 &&
           strncmp(dot, ".sst", 4) == 0;
}

/* Returns true for a file named transcript.VATID.FIRST.END, of a span, or transcript-VATID.sst, of
 * a vat; the vat's ID is borrowed from the path. */
static bool line_source_read_name(const char *path, struct scan_span *vat_id, int64_t *first,
                                  int64_t *end)
{
    static const char head[] = "transcript";
    const char *slash = strrchr(path, '/'), *at = slash != NULL ? slash + 1 : path;

    if (strncmp(at, head, sizeof head - 1) != 0)
        return false;
    at += sizeof head - 1;
    if (*at == '.')
        return read_span_name(at + 1, vat_id, first, end);
    return *at == '-' && read_whole_name(at + 1, vat_id, first, end);
}

static int keep_vat(struct line_source *lines, struct scan_span vat_id, int64_t first,
                    struct error *error)
{
    buf_clear(&lines->vat_id);
    buf_append(&lines->vat_id, vat_id.at, vat_id.length);
    lines->delivery_num = first != RECORDED_NONE ? first : 0;
    return buf_failed(&lines->vat_id) ? error_memory(error, "a vat's name") : 0;
}

/* The number that an entry may have itself, and whether it brought a worker back. */
static void line_source_take_number(struct line_source *lines, struct source_event *event)
{
    const struct buf *text = &lines->delivery.text;
    const struct scan_span entry = {text->data, text->length};
    const int64_t number = recorded_integer(entry, "deliveryNum");

    event->replay = scan_is(scan_get(entry, "replay"), "true");
    if (number == RECORDED_NONE)
        return;
    event->delivery_num = number;
    lines->delivery_num = number < INT64_MAX ? number + 1 : number;
}

static int take_entry(struct line_source *lines, const struct reader_line *line,
                      struct source_event *event, struct error *error)
{
    struct buf *text = &lines->delivery.text;
    struct error problem;

    *event = (struct source_event){
        .line = line->number,
        .vat_id = {lines->vat_id.data, lines->vat_id.length},
        .delivery_num = lines->delivery_num++,
        .crank_num = RECORDED_NONE,
    };
    if (lines->vat_id.length == 0)
        return line_source_refuse(
            lines, line->number,
            "no line of a transcript before one of type create-vat, which names the vat", error);
    buf_clear(text);
    if (buf_append(text, line->bytes, line->length) != 0)
        return error_memory(error, "a transcript");
    if (recorded_delivery_parse(&lines->delivery, line->number, &problem) != 0) {
        *error = problem;
        return problem.kind == ERROR_INPUT
                   ? line_source_refuse(lines, line->number, problem.text, error)
                   : -1;
    }
    source_event_of_entry(event, &lines->delivery);
    line_source_take_number(lines, event);
    return 1;
}

/* ---- files ---- */

static int open_next(struct line_source *lines, struct error *error)
{
    const char *path = lines->paths[lines->next_path++];
    struct scan_span vat_id;
    int64_t first, end;

    if (lines->reader != NULL)
        reader_close(lines->reader);
    lines->source.name = strcmp(path, "-") == 0 ? "stdin" : path;
    lines->reader = reader_open(path, error);
    if (lines->reader == NULL)
        return -1;
    return line_source_read_name(path, &vat_id, &first, &end)
               ? keep_vat(lines, vat_id, first, error)
               : 0;
}

/* 1 with the next line, of the next file at the end of one; 0 after the last. */
static int next_source_line(struct line_source *lines, struct reader_line *line,
                            struct error *error)
{
    int result;

    while ((result = reader_next(lines->reader, false, line, error)) == 0) {
        lines->source.torn = lines->source.torn || source_is_cut(reader_source(lines->reader));
        if (lines->next_path >= lines->path_count)
            return 0;
        if (open_next(lines, error) != 0)
            return -1;
    }
    return result;
}

/* 1 with the line's event, or 0: it is of no interest. */
static int line_source_take_line(struct line_source *lines, const struct reader_line *line,
                                 struct error *error)
{
    const struct scan_span text = {line->bytes, line->length};
    struct slog_event *event = &lines->event;
    const char *why = "longer than any line of a slogfile may be";
    int result;

    if (line->too_long)
        return line_source_refuse(lines, line->number, why, error);
    if (scan_get(text, "d").at != NULL) {
        event->part = SLOG_EVENT_WHOLE;
        return take_entry(lines, line, &event->event, error);
    }
    result = slog_event_read(event, text, &why);
    event->event.line = event->result.line = line->number;
    if (result < 0)
        return line_source_refuse(lines, line->number, why, error);
    if (result == 1 && event->part == SLOG_EVENT_WHOLE && event->event.kind == SOURCE_CREATE &&
        keep_vat(lines, event->event.vat_id, event->event.delivery_num, error) != 0)
        return -1;
    return result;
}

/* 1 with the next line of interest in `event`; 0 at the end. */
static int next_event(struct line_source *lines, struct error *error)
{
    struct reader_line line;
    int result = 0;

    if (lines->pending) {
        lines->pending = false;
        return 1;
    }
    while (result == 0) {
        result = next_source_line(lines, &line, error);
        if (result <= 0)
            return result;
        result = line_source_take_line(lines, &line, error);
        if (result < 0 && line.torn) {
            lines->source.torn = true;
            return 0;
        }
    }
    return result;
}

/* ---- deliveries of slogfiles ---- */

/* Takes a line of the delivery. False: it cannot follow those before. */
static bool take_delivery_part(struct line_source *lines, int *failed)
{
    const struct slog_event *event = &lines->event;
    struct recorded_delivery *delivery = &lines->delivery;
    const size_t count = delivery->syscall_count;
    const bool open = count > 0 && delivery->syscalls[count - 1].answer.at == NULL;

    *failed = 0;
    switch (event->part) {
    case SLOG_EVENT_SYSCALL:
        if (!open)
            *failed = recorded_delivery_add_syscall(delivery, event->json, event->event.line);
        return !open;
    case SLOG_EVENT_ANSWER:
        if (open)
            *failed = recorded_delivery_add_answer(delivery, event->json);
        return open;
    default:
        if (!open)
            *failed = recorded_delivery_add_result(delivery, &event->result);
        return !open;
    }
}

/* Gathers the lines from a deliver line to the result or another event. 1, or 0 if the delivery was
 * abandoned: it is retried later, or waits in quarantine. */
static int gather_delivery(struct line_source *lines, struct source_event *gathered,
                           struct error *error)
{
    struct recorded_delivery *delivery = &lines->delivery;
    struct buf *vat_id = &lines->delivery_vat;
    int failed = 0, result;

    buf_clear(vat_id);
    if (buf_append(vat_id, gathered->vat_id.at, gathered->vat_id.length) != 0)
        return error_memory(error, "a delivery");
    gathered->vat_id = (struct scan_span){vat_id->data, vat_id->length};
    while (!delivery->finished && (result = next_event(lines, error)) != 0) {
        const struct slog_event *event = &lines->event;
        const struct scan_span id = event->event.vat_id;

        if (result < 0)
            return -1;
        if (event->part == SLOG_EVENT_TROUBLE)
            return 0;
        if (event->part == SLOG_EVENT_WHOLE || id.length != vat_id->length ||
            memcmp(id.at, vat_id->data, id.length) != 0) {
            lines->pending = true;
            break;
        }
        if (gathered->disorder == 0 && !take_delivery_part(lines, &failed)) {
            gathered->disorder = event->event.line;
            failed = 0;
        }
        if (gathered->disorder != 0 && event->part == SLOG_EVENT_RESULT)
            break;
        if (failed != 0)
            return error_memory(error, "a delivery");
    }
    gathered->delivery = delivery;
    return 1;
}

static int line_source_next(struct replay_source *source, struct source_event *event,
                            struct error *error)
{
    struct line_source *lines = (struct line_source *)source;
    int result;

    do {
        /* Parts of a delivery whose beginning is not there are passed over. */
        do
            result = next_event(lines, error);
        while (result == 1 && lines->event.part != SLOG_EVENT_WHOLE);
        if (result != 1)
            return result;
        *event = lines->event.event;
        if (event->kind != SOURCE_DELIVERY || event->delivery != NULL)
            return 1;
        if (recorded_delivery_begin(&lines->delivery, lines->event.json) != 0)
            return error_memory(error, "a delivery");
        result = gather_delivery(lines, event, error);
    } while (result == 0);
    return result;
}

/* swing-store exports bundles as files next to the transcripts. */
static int line_source_read_bundle(struct replay_source *source, struct scan_span id,
                                   struct buf *bundle, bool *found, struct error *error)
{
    return stored_bundle_read(source->name, id, bundle, found, error);
}

static void line_source_close(struct replay_source *source)
{
    struct line_source *lines = (struct line_source *)source;

    if (lines->reader != NULL)
        reader_close(lines->reader);
    recorded_delivery_free(&lines->delivery);
    buf_free(&lines->delivery_vat);
    buf_free(&lines->vat_id);
    free(lines);
}

struct replay_source *line_source_open(char *const *paths, size_t count, struct error *error)
{
    static const struct source_operations operations = {
        .next = line_source_next,
        .read_bundle = line_source_read_bundle,
        .close = line_source_close,
    };
    struct line_source *lines = calloc(1, sizeof *lines);

    if (lines == NULL) {
        error_memory(error, "reading a transcript");
        return NULL;
    }
    lines->source.operations = &operations;
    lines->paths = paths;
    lines->path_count = count;
    if (open_next(lines, error) == 0)
        return &lines->source;
    line_source_close(&lines->source);
    return NULL;
}

/* ---- a directory of archived transcripts ---- */

bool archive_directory_is_one(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && !swing_source_is_one(path);
}

static bool is_file_wanted(const struct source_selection *selection,
                           const struct archive_file *file)
{
    bool wanted = selection->vat_count == 0;

    for (size_t i = 0; i < selection->vat_count; i++)
        wanted = wanted || strcmp(selection->vats[i], file->vat_id) == 0;
    return wanted && (selection->span < 0 || selection->span == file->first) &&
           file->end > selection->from && file->first <= selection->to;
}

static void free_archive_file(struct archive_file *file)
{
    free(file->path);
    free(file->vat_id);
}

/* Takes the file over. */
static int archive_directory_add(struct archive_files *files, struct archive_file *file)
{
    struct archive_file *all =
        array_reserve(files->files, &files->capacity, files->count + 1, sizeof *all);

    if (all == NULL) {
        free_archive_file(file);
        return -1;
    }
    files->files = all;
    all[files->count++] = *file;
    return 0;
}

/* 1: it is a transcript, 0: it is none, -1: memory ran out. */
static int take_archive_file(struct archive_files *files, const char *directory, const char *name,
                             const struct source_selection *selection)
{
    struct archive_file file = {0};
    struct scan_span vat_id;
    struct buf path = {0};
    struct stat status;

    if (!line_source_read_name(name, &vat_id, &file.first, &file.end))
        return 0;
    (void)buf_printf(&path, "%s/%s", directory, name);
    file.vat_id = strndup(vat_id.at, vat_id.length);
    file.path = buf_string(&path) != NULL ? path.data : NULL;
    if (file.path == NULL || file.vat_id == NULL) {
        free_archive_file(&file);
        return -1;
    }
    file.size = stat(file.path, &status) == 0 ? status.st_size : 0;
    if (is_file_wanted(selection, &file))
        return archive_directory_add(files, &file) == 0 ? 1 : -1;
    free_archive_file(&file);
    return 1;
}

static int archive_directory_compare(const void *left, const void *right)
{
    const struct archive_file *a = left, *b = right;
    const int vats = strverscmp(a->vat_id, b->vat_id);

    if (vats != 0)
        return vats;
    return (a->first > b->first) - (a->first < b->first);
}

static int refuse_directory(const char *path, bool is_store, struct error *error)
{
    if (is_store)
        return error_set(error, ERROR_INPUT,
                         "%s: is a store of gaspipe; replay it with --store %s VAT", path, path);
    return error_set(error, ERROR_INPUT,
                     "%s: no swingstore.sqlite, transcript.VAT.FIRST.END or transcript-VAT.sst",
                     path);
}

int archive_directory_read(struct archive_files *files, const char *path,
                           const struct source_selection *selection, struct error *error)
{
    const size_t before = files->count;
    DIR *directory = opendir(path);
    struct dirent *entry;
    bool any = false, is_store = false;
    int taken = 0;

    if (directory == NULL)
        return error_set(error, ERROR_INPUT, "%s: %s", path, strerror(errno));
    /* cppcheck-suppress readdirCalled ; no other thread reads this directory */
    while (taken >= 0 && (errno = 0, entry = readdir(directory)) != NULL) {
        taken = take_archive_file(files, path, entry->d_name, selection);
        any = any || taken > 0;
        is_store = is_store || strcmp(entry->d_name, "gaspipe.sqlite") == 0;
    }
    if (taken < 0)
        error_memory(error, "the files of an archive");
    else if (errno != 0)
        taken = error_system(error, errno, "cannot read %s", path);
    else if (!any)
        taken = refuse_directory(path, is_store, error);
    else if (files->count == before)
        taken = error_set(error, ERROR_INPUT, "%s: no such span", path);
    (void)closedir(directory); /* was only read */
    if (files->count > 0)      /* qsort(3) may not be given NULL */
        qsort(files->files, files->count, sizeof *files->files, archive_directory_compare);
    return taken < 0 ? -1 : 0;
}

void archive_files_free(struct archive_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free_archive_file(&files->files[i]);
    free(files->files);
    *files = (struct archive_files){0};
}
