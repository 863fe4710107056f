/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/source/slog_event.h"

#include "slog/read/record.h"

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
static bool take_other(struct scan_span line, struct slog_event *part)
{
    struct scan_span type = scan_string(scan_get(line, "type"));
    struct source_event *event = &part->event;

    if (scan_is(type, "gaspipe-trouble")) {
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

static void take_create(struct scan_span line, struct source_event *event)
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
static bool take_part(struct slog_event *event, const struct record *record, struct scan_span line)
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
static int take_record(struct slog_event *event, const struct record *record, struct scan_span line)
{
    bool right = record->vat_id.at != NULL;

    switch (record->type) {
    case RECORD_SLOG_START:
        event->event.kind = SOURCE_SESSION;
        event->event.fingerprint = scan_string(scan_get(line, "fingerprint"));
        return 1;
    case RECORD_CREATE_VAT:
        take_create(line, &event->event);
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
        right = take_part(event, record, line) && right;
        break;
    default:
        if (!take_other(line, event))
            return 0;
    }
    return right ? 1 : -1;
}

/* Numbers are handed on. NOLINTNEXTLINE(misc-redundant-expression): they are two names */
_Static_assert(RECORD_NONE == RECORDED_NONE, "one number stands for none");

int slog_event_read(struct slog_event *event, struct scan_span line, const char **why)
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
    return take_record(event, &record, line);
}
