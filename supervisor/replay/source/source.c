/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/source/source.h"

#include "slog/model/describe.h"
#include "supervisor/replay/source/selection.h"

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

/* ["initialize-worker",{"source":{"bundleID"},"workerOptions":{"bundleIDs":[...]}}] */
static void take_start(struct source_event *event, struct scan_span delivery)
{
    struct scan_span kind, description;
    struct scan_cursor cursor;

    event->kind = SOURCE_START;
    if (!scan_open(delivery, '[', &cursor) || scan_element(&cursor, &kind) != SCAN_FOUND ||
        scan_element(&cursor, &description) != SCAN_FOUND)
        return;
    event->bundle_id = scan_string(scan_get(scan_get(description, "source"), "bundleID"));
    event->runtime_ids = scan_get(scan_get(description, "workerOptions"), "bundleIDs");
}

void source_event_of_entry(struct source_event *event, const struct recorded_delivery *recorded)
{
    const struct scan_span entry = {recorded->text.data, recorded->text.length};
    const struct scan_span kind = describe_kind(recorded->delivery);

    if (scan_is(kind, "initialize-worker") || scan_is(kind, "shutdown-worker")) {
        take_start(event, recorded->delivery);
    } else if (scan_is(kind, "save-snapshot")) {
        event->kind = SOURCE_SNAPSHOT_SAVED;
        event->hash = snapshot_of(recorded->delivery, scan_get(entry, "r"));
    } else if (scan_is(kind, "load-snapshot")) {
        event->kind = SOURCE_SNAPSHOT_LOADED;
        event->hash = snapshot_of(recorded->delivery, scan_get(entry, "r"));
    } else {
        event->kind = SOURCE_DELIVERY;
        event->delivery = recorded;
    }
}

bool source_event_is_wanted(const struct source_event *event,
                            const struct source_selection *selection)
{
    for (size_t i = 0; i < selection->vat_count; i++)
        if (scan_is(event->vat_id, selection->vats[i]) ||
            (event->kind == SOURCE_CREATE && scan_is(event->name, selection->vats[i])))
            return true;
    return selection->vat_count == 0;
}
