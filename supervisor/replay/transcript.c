/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/transcript.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "slog/model/describe.h"
#include "slog/read/reader.h"
#include "slog/read/record.h"

/* What is still to be given of a line of an exported transcript. */
enum entry_rest { ENTRY_NONE, ENTRY_SYSCALLS, ENTRY_ANSWER, ENTRY_RESULT };

struct transcript {
    struct reader *reader; /* of a file; else NULL */
    struct stored_transcript *stored;
    const char *path;
    bool torn;
    bool again; /* the last step is given once more */
    struct transcript_step last;

    /* Of an exported transcript. */
    struct buf vat_id;    /* of its create-vat line */
    int64_t delivery_num; /* of the line in hand */
    int64_t syscall_num;
    enum entry_rest rest;
    struct scan_cursor syscalls;
    struct scan_span answer, result;
};

struct transcript *transcript_open(const char *path, struct error *error)
{
    struct transcript *transcript = calloc(1, sizeof *transcript);

    if (transcript == NULL) {
        error_memory(error, "reading a transcript");
        return NULL;
    }
    transcript->path = path;
    transcript->reader = reader_open(path, error);
    if (transcript->reader != NULL)
        return transcript;
    free(transcript);
    return NULL;
}

struct transcript *transcript_open_stored(struct stored_transcript *stored, const char *name,
                                          struct error *error)
{
    struct transcript *transcript = calloc(1, sizeof *transcript);

    if (transcript == NULL) {
        error_memory(error, "reading a transcript");
        return NULL;
    }
    transcript->stored = stored;
    transcript->path = name;
    return transcript;
}

void transcript_close(struct transcript *transcript)
{
    if (transcript == NULL)
        return;
    if (transcript->reader != NULL)
        reader_close(transcript->reader);
    buf_free(&transcript->vat_id);
    free(transcript);
}

const char *transcript_name(const struct transcript *transcript)
{
    return strcmp(transcript->path, "-") == 0 ? "stdin" : transcript->path;
}

bool transcript_is_torn(const struct transcript *transcript)
{
    return transcript->torn || (transcript->reader != NULL && reader_is_cut(transcript->reader));
}

static int refuse(const struct transcript *transcript, uint64_t line, const char *why,
                  struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s:%" PRIu64 ": %s", transcript_name(transcript), line,
                     why);
}

static int64_t integer_of(struct scan_span object, const char *name)
{
    struct scan_span value = scan_get(object, name);
    int64_t number;

    return value.at != NULL && scan_decimal(value, 0, &number) ? number : TRANSCRIPT_NONE;
}

/* ---- lines of slogfiles ---- */

/* ["ok",null,METER], ["error",WORDS,METER], ["error",WORDS,null] */
static bool take_result(struct scan_span dr, struct transcript_step *step)
{
    struct scan_span status, meter;
    struct scan_cursor cursor;

    if (!scan_open(dr, '[', &cursor) || scan_element(&cursor, &status) != SCAN_FOUND ||
        scan_element(&cursor, &step->problem) != SCAN_FOUND ||
        scan_element(&cursor, &meter) != SCAN_FOUND)
        return false;
    step->status = scan_string(status);
    step->metered = meter.at[0] == '{';
    step->compute = integer_of(meter, "compute");
    step->instructions = integer_of(meter, "instructions");
    return step->status.at != NULL;
}

/* Lines whose type the slog's model has no use for. */
static bool take_other(struct scan_span line, struct transcript_step *step)
{
    struct scan_span type = scan_string(scan_get(line, "type"));

    if (scan_is(type, "heap-snapshot-save")) {
        step->kind = TRANSCRIPT_SNAPSHOT_SAVED;
        step->hash = scan_string(scan_get(line, "snapshotID"));
    } else if (scan_is(type, "heap-snapshot-load")) {
        step->kind = TRANSCRIPT_SNAPSHOT_LOADED;
        step->hash = scan_string(scan_get(line, "hash"));
    } else if (scan_is(type, "terminate") || scan_is(type, "vat-cleanup")) {
        step->kind = TRANSCRIPT_TERMINATE;
    } else {
        return false;
    }
    return true;
}

static void take_create(struct scan_span line, struct transcript_step *step)
{
    step->kind = TRANSCRIPT_CREATE;
    step->json = scan_get(line, "vatSourceBundle");
    step->name = scan_string(scan_get(line, "name"));
    step->manager_type = scan_string(scan_get(line, "managerType"));
}

/* The crank that upgrades a vat, not the one before, which only queues it. */
static bool take_upgrade(struct scan_span line, struct transcript_step *step)
{
    struct scan_span message = scan_get(line, "message");

    if (!scan_is(scan_string(scan_get(line, "messageType")), "upgrade-vat") ||
        scan_is(scan_string(scan_get(line, "crankType")), "routing"))
        return false;
    step->kind = TRANSCRIPT_UPGRADE;
    step->vat_id = scan_string(scan_get(message, "vatID"));
    step->bundle_id = scan_string(scan_get(message, "bundleID"));
    return true;
}

/* 1: a step, 0: a line of no interest, -1: not what it should be; *why says. */
static int take_record(const struct record *record, struct scan_span line,
                       struct transcript_step *step, const char **why)
{
    bool right = record->vat_id.at != NULL;

    step->vat_id = record->vat_id;
    step->delivery_num = record->delivery_num;
    step->syscall_num = record->syscall_num;
    switch (record->type) {
    case RECORD_SLOG_START:
        step->kind = TRANSCRIPT_SESSION;
        step->json = scan_get(line, "fingerprint");
        return 1;
    case RECORD_CREATE_VAT:
        take_create(line, step);
        break;
    case RECORD_CRANK_START:
        if (!take_upgrade(line, step))
            return 0;
        right = step->vat_id.at != NULL && step->bundle_id.at != NULL;
        break;
    case RECORD_START_REPLAY:
        step->kind = TRANSCRIPT_START;
        break;
    case RECORD_DELIVER:
        step->kind = TRANSCRIPT_DELIVER;
        step->json = record->vd;
        step->replay = record->replay;
        right = right && step->json.at != NULL && step->delivery_num != RECORD_NONE;
        break;
    case RECORD_SYSCALL:
        step->kind = TRANSCRIPT_SYSCALL;
        step->json = record->vsc;
        right = right && step->json.at != NULL;
        break;
    case RECORD_SYSCALL_RESULT:
        step->kind = TRANSCRIPT_ANSWER;
        step->json = scan_get(line, "vsr");
        right = right && step->json.at != NULL;
        break;
    case RECORD_DELIVER_RESULT:
        step->kind = TRANSCRIPT_RESULT;
        right = right && take_result(record->dr, step);
        break;
    default:
        if (!take_other(line, step))
            return 0;
    }
    *why = "a line of its type has fields that this one has not, or of another kind";
    return right ? 1 : -1;
}

/* ---- lines of exported transcripts ---- */

/* What SwingSet notes between deliveries, in their shape. */
static bool take_worker_event(struct transcript *transcript, struct scan_span kind,
                              struct transcript_step *step)
{
    if (scan_is(kind, "initialize-worker") || scan_is(kind, "shutdown-worker"))
        step->kind = TRANSCRIPT_START;
    else if (scan_is(kind, "save-snapshot"))
        step->kind = TRANSCRIPT_SNAPSHOT_SAVED;
    else if (scan_is(kind, "load-snapshot"))
        step->kind = TRANSCRIPT_SNAPSHOT_LOADED;
    else
        return false;
    transcript->rest = ENTRY_NONE;
    return true;
}

/* The snapshot's hash: ["load-snapshot",{"snapshotID"}], or in the result of a saving. */
static struct scan_span snapshot_of(struct scan_span delivery, struct scan_span result)
{
    struct scan_span kind, description = {0};
    struct scan_cursor cursor;

    if (scan_open(delivery, '[', &cursor) && scan_element(&cursor, &kind) == SCAN_FOUND)
        (void)scan_element(&cursor, &description);
    description = scan_string(scan_get(description, "snapshotID"));
    return description.at != NULL ? description : scan_string(scan_get(result, "snapshotID"));
}

static int take_entry(struct transcript *transcript, struct scan_span line,
                      struct transcript_step *step, const char **why)
{
    *step = (struct transcript_step){
        .kind = TRANSCRIPT_DELIVER,
        .vat_id = {transcript->vat_id.data, transcript->vat_id.length},
        .delivery_num = transcript->delivery_num++,
        .json = scan_get(line, "d"),
    };
    *why = "no line of a transcript before one of type create-vat, which names the vat";
    if (step->vat_id.length == 0)
        return -1;
    transcript->result = scan_get(line, "r");
    *why = "not {\"d\":[...],\"sc\":[...],\"r\":{...}}";
    if (describe_kind(step->json).at == NULL || transcript->result.at == NULL ||
        !scan_open(scan_get(line, "sc"), '[', &transcript->syscalls))
        return -1;
    transcript->syscall_num = 0;
    transcript->rest = ENTRY_SYSCALLS;
    if (take_worker_event(transcript, describe_kind(step->json), step))
        step->hash = snapshot_of(step->json, transcript->result);
    return 1;
}

static void take_entry_result(struct transcript *transcript, struct transcript_step *step)
{
    struct scan_span metering = scan_get(transcript->result, "metering");

    transcript->rest = ENTRY_NONE;
    step->kind = TRANSCRIPT_RESULT;
    step->status = scan_string(scan_get(transcript->result, "status"));
    step->problem = (struct scan_span){0};
    step->metered = metering.at != NULL;
    step->compute = integer_of(metering, "computrons");
    step->instructions = integer_of(transcript->result, "instructions");
    step->fingerprint = scan_string(scan_get(transcript->result, "fingerprint"));
}

static int take_entry_syscall(struct transcript *transcript, struct transcript_step *step,
                              const char **why)
{
    struct scan_span syscall;

    *why = "a syscall that is not {\"s\":[...],\"r\":[...]}";
    switch (scan_element(&transcript->syscalls, &syscall)) {
    case SCAN_END:
        take_entry_result(transcript, step);
        return step->status.at != NULL ? 1 : -1;
    case SCAN_BAD:
        return -1;
    case SCAN_FOUND:
        break;
    }
    step->kind = TRANSCRIPT_SYSCALL;
    step->syscall_num = transcript->syscall_num++;
    step->json = scan_get(syscall, "s");
    transcript->answer = scan_get(syscall, "r");
    transcript->rest = ENTRY_ANSWER;
    return step->json.at != NULL && transcript->answer.at != NULL ? 1 : -1;
}

/* The next step of the line in hand. */
static int continue_entry(struct transcript *transcript, struct transcript_step *step,
                          const char **why)
{
    *step = transcript->last;
    if (transcript->rest == ENTRY_SYSCALLS)
        return take_entry_syscall(transcript, step, why);
    step->kind = TRANSCRIPT_ANSWER;
    step->json = transcript->answer;
    transcript->rest = ENTRY_SYSCALLS;
    return 1;
}

/* An exported transcript is of one vat, which its lines do not name again. */
static int keep_vat(struct transcript *transcript, const struct transcript_step *step,
                    struct error *error)
{
    if (step->kind != TRANSCRIPT_CREATE)
        return 1;
    buf_clear(&transcript->vat_id);
    buf_append(&transcript->vat_id, step->vat_id.at, step->vat_id.length);
    transcript->delivery_num = step->delivery_num != RECORD_NONE ? step->delivery_num : 0;
    return buf_failed(&transcript->vat_id) ? error_memory(error, "a vat's name") : 1;
}

/* ---- steps ---- */

static int take_line(struct transcript *transcript, const struct reader_line *line,
                     struct transcript_step *step, struct error *error)
{
    struct scan_span text = {line->bytes, line->length};
    const char *why = "longer than any line of a slogfile may be";
    struct record record;
    int result = -1;

    if (line->too_long)
        return refuse(transcript, line->number, why, error);
    if (scan_get(text, "d").at != NULL) {
        result = take_entry(transcript, text, step, &why);
    } else if (record_read(line->bytes, line->length, &record, &why)) {
        *step = (struct transcript_step){0};
        result = take_record(&record, text, step, &why);
        if (result == 1)
            result = keep_vat(transcript, step, error);
    }
    step->line = line->number;
    return result < 0 ? refuse(transcript, line->number, why, error) : result;
}

static int next_line(struct transcript *transcript, struct reader_line *line, struct error *error)
{
    if (transcript->reader == NULL)
        return stored_transcript_next(transcript->stored, line, error);
    return reader_next(transcript->reader, false, line, error);
}

int transcript_next(struct transcript *transcript, struct transcript_step *step,
                    struct error *error)
{
    const char *why = NULL;
    struct reader_line line;
    int result = 0;

    if (transcript->again) {
        transcript->again = false;
        *step = transcript->last;
        return 1;
    }
    if (transcript->rest != ENTRY_NONE) {
        result = continue_entry(transcript, step, &why);
        if (result < 0)
            return refuse(transcript, transcript->last.line, why, error);
    }
    while (result == 0) {
        result = next_line(transcript, &line, error);
        if (result <= 0)
            return result;
        result = take_line(transcript, &line, step, error);
        if (result < 0 && line.torn) {
            transcript->torn = true;
            return 0;
        }
    }
    if (result == 1)
        transcript->last = *step;
    return result;
}

void transcript_unread(struct transcript *transcript)
{
    transcript->again = true;
}
