/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/stored_transcript.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json/json_text.h"

enum stored_stage { STAGE_CREATE, STAGE_SNAPSHOT, STAGE_ITEMS };

struct stored_transcript {
    struct store *store;
    struct stored_vat vat;
    enum stored_stage stage;
    bool from_snapshot;
    struct store_snapshot snapshot;
    int64_t position, end; /* of the next item, and behind the last one */
    struct buf text;       /* of the line that was given */
};

static int find_place(struct stored_transcript *transcript, bool from_start, struct error *error)
{
    const struct stored_vat *vat = &transcript->vat;
    int64_t position;

    if (store_transcript_bounds(transcript->store, vat->id, vat->incarnation, &transcript->position,
                                &transcript->end, error) != 0)
        return -1;
    if (transcript->end == 0)
        return error_set(error, ERROR_INPUT, "vat v%" PRId64 ": no delivery is recorded of it",
                         vat->id);
    if (from_start)
        return 0;
    if (store_snapshot_last(transcript->store, vat->id, vat->incarnation, &position,
                            &transcript->snapshot, &transcript->from_snapshot, error) != 0)
        return -1;
    if (!transcript->from_snapshot)
        return 0;
    if (position >= transcript->end)
        return error_set(error, ERROR_INPUT,
                         "vat v%" PRId64 ": it had no delivery since its last snapshot; all are "
                         "there from the start",
                         vat->id);
    transcript->position = position;
    return 0;
}

struct stored_transcript *stored_transcript_open(struct store *store, const struct stored_vat *vat,
                                                 bool from_start, struct error *error)
{
    struct stored_transcript *transcript = calloc(1, sizeof *transcript);

    if (transcript == NULL) {
        error_memory(error, "reading a transcript");
        return NULL;
    }
    transcript->store = store;
    transcript->vat = *vat;
    if (find_place(transcript, from_start, error) == 0)
        return transcript;
    stored_transcript_close(transcript);
    return NULL;
}

/* ---- lines ---- */

static void put_name(struct buf *text, const char *field, const char *name)
{
    buf_printf(text, ",\"%s\":", field);
    json_text_string(text, name, strlen(name));
}

/* A load-snapshot line counts as a delivery does. */
static int64_t first_number(const struct stored_transcript *transcript)
{
    return transcript->vat.first_num + transcript->position - transcript->from_snapshot;
}

static int put_create(struct stored_transcript *transcript, struct error *error)
{
    const struct stored_vat *vat = &transcript->vat;
    struct buf *text = &transcript->text;
    bool found = false;

    buf_printf(text, "{\"type\":\"create-vat\",\"vatID\":\"v%" PRId64 "\",\"dynamic\":%s", vat->id,
               vat->dynamic ? "true" : "false");
    if (vat->name[0] != '\0')
        put_name(text, "name", vat->name);
    buf_printf(text, ",\"deliveryNum\":%" PRId64, first_number(transcript));
    buf_append_string(text, ",\"managerType\":\"xsnap\",\"vatSourceBundle\":");
    if (store_bundle_get(transcript->store, vat->bundle_id, text, &found, error) != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_SYSTEM,
                         "vat v%" PRId64 ": the store is damaged: no bundle %s", vat->id,
                         vat->bundle_id);
    buf_append_string(text, ",\"time\":0}"); /* a slog's line has one; the store does not */
    return 0;
}

static void put_snapshot(struct stored_transcript *transcript)
{
    buf_printf(&transcript->text,
               "{\"d\":[\"load-snapshot\",{\"snapshotID\":\"%s\"}],\"sc\":[],"
               "\"r\":{\"status\":\"ok\"}}",
               transcript->snapshot.hash);
}

static int put_item(struct stored_transcript *transcript, struct error *error)
{
    const struct stored_vat *vat = &transcript->vat;
    bool found = false;

    if (store_transcript_get(transcript->store, vat->id, vat->incarnation, transcript->position,
                             &transcript->text, &found, error) != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_SYSTEM,
                         "vat v%" PRId64 ": the store is damaged: no item %" PRId64
                         " of its transcript",
                         vat->id, transcript->position);
    return 0;
}

/* The line of that stage, and the stage after it. */
static int put_line(struct stored_transcript *transcript, struct reader_line *line,
                    struct error *error)
{
    switch (transcript->stage) {
    case STAGE_CREATE:
        transcript->stage = transcript->from_snapshot ? STAGE_SNAPSHOT : STAGE_ITEMS;
        line->number = 1;
        return put_create(transcript, error);
    case STAGE_SNAPSHOT:
        transcript->stage = STAGE_ITEMS;
        line->number = (uint64_t)transcript->position + 1;
        put_snapshot(transcript);
        return 0;
    case STAGE_ITEMS:
        break;
    }
    line->number = (uint64_t)transcript->position + 2;
    if (put_item(transcript, error) != 0)
        return -1;
    transcript->position++;
    return 0;
}

int stored_transcript_next(struct stored_transcript *transcript, struct reader_line *line,
                           struct error *error)
{
    struct buf *text = &transcript->text;

    if (transcript->stage == STAGE_ITEMS && transcript->position >= transcript->end)
        return 0;
    *line = (struct reader_line){0};
    buf_clear(text);
    if (put_line(transcript, line, error) != 0)
        return -1;
    if (buf_reserve(text, SCAN_PADDING) != 0 || buf_failed(text))
        return error_memory(error, "a transcript");
    memset(text->data + text->length, 0, SCAN_PADDING);
    line->bytes = text->data;
    line->length = text->length;
    return 1;
}

void stored_transcript_close(struct stored_transcript *transcript)
{
    if (transcript == NULL)
        return;
    buf_free(&transcript->text);
    free(transcript);
}
