/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "proto/command.h"
#include "supervisor/runtime/heap_file.h"
#include "supervisor/vats/vat.h"

#define BAD_SNAPSHOT "its worker's snapshot is bad: %s"

enum vat_event vat_snapshot(struct vat *vat)
{
    static char place[] = WORKER_SAVE_PLACE;
    struct error error;

    if (worker_process_begin_snapshot(vat->process, &error) != 0)
        return vat_fail(vat, &error);
    vat_timer_start(&vat->timer, launcher_start_limit(vat->owner->options->timeout_ms));
    vat_send_frame(vat, COMMAND_SNAPSHOT, (struct iovec){place, strlen(place)});
    return VAT_EVENT_NONE;
}

/* At once: its line is deferred with others, which cannot wait for it. */
static int put_now(struct vat *vat, int64_t end, int fd, struct error *error)
{
    struct store_snapshot snapshot;

    if (store_snapshot_put(vat->owner->options->store, vat->identity.id, vat->identity.incarnation,
                           end, fd, &snapshot, error) != 0)
        return -1;
    return vat_log_snapshot_save(&vat->log, end, &snapshot, error);
}

static int on_kept(void *context, const struct store_snapshot *snapshot, struct error *error)
{
    return vat_pending_lines_write(context, snapshot, error);
}

/* While the next worker reads the same file. */
static int put_late(struct vat *vat, int64_t end, int fd, struct error *error)
{
    struct vat_owner *owner = vat->owner;
    struct store *store = owner->options->store;
    const struct store_background_listener listener = {.context = &owner->pending, .kept = on_kept};
    const int packed = heap_file_reopen(fd, error);

    if (packed < 0)
        return -1;
    vat->origin.file = heap_file_reopen(fd, error);
    if (vat->origin.file < 0 || store_transaction_begin(store, error) != 0) {
        close(packed);
        return -1;
    }
    if (store_snapshot_put_in_background(store, vat->identity.id, vat->identity.incarnation, end,
                                         packed, &listener, error) != 0)
        return -1;
    vat_pending_lines_save(&owner->pending, &vat->log, end);
    return 0;
}

static int put_vat_snapshot(struct vat *vat, int fd, struct error *error)
{
    int64_t first, end;

    if (store_transcript_bounds(vat->owner->options->store, vat->identity.id,
                                vat->identity.incarnation, &first, &end, error) != 0 ||
        (vat->log.deferred != NULL ? put_now(vat, end, fd, error)
                                   : put_late(vat, end, fd, error)) != 0)
        return -1;
    vat->saved_at = end;
    return 0;
}

/* Compares the snapshot with the size that the worker reports. */
static int check_written(int fd, struct iovec payload, struct error *error)
{
    struct meter meter;
    struct iovec reply;
    int result;

    if (meter_split(payload, &meter, &reply, error) != 0)
        return -1;
    result = heap_file_check(fd, reply, error);
    meter_free(&meter);
    return result;
}

static enum vat_event keep_snapshot_file(struct vat *vat, int fd, struct iovec payload)
{
    struct error error;

    if (check_written(fd, payload, &error) != 0) {
        vat_reason_set(&vat->reason, ERROR_SYSTEM, BAD_SNAPSHOT, error.text);
        return VAT_EVENT_BAD;
    }
    return put_vat_snapshot(vat, fd, &error) == 0 ? VAT_EVENT_DONE : vat_fail(vat, &error);
}

enum vat_event vat_keep_snapshot(struct vat *vat, struct iovec payload)
{
    struct error error;
    const int fd = worker_process_end_snapshot(vat->process, &error);
    enum vat_event event;

    if (fd < 0 && error.kind == ERROR_SYSTEM)
        return vat_fail(vat, &error);
    if (fd < 0) {
        vat_reason_set(&vat->reason, ERROR_SYSTEM, BAD_SNAPSHOT, error.text);
        return VAT_EVENT_BAD;
    }
    event = keep_snapshot_file(vat, fd, payload);
    close(fd);
    return event;
}

void vat_close_origin(struct vat *vat)
{
    if (vat->origin.file >= 0)
        close(vat->origin.file);
    vat->origin.file = -1;
}

void vat_restart(struct vat *vat)
{
    vat->then = VAT_THEN_START;
    vat->unproven = true;
    vat->falls_back = false;
    vat_leave(vat);
    vat_report(vat, &(struct warehouse_event){.kind = WAREHOUSE_EVENT_SAVED});
}
