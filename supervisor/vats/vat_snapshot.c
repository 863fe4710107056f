/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "proto/command.h"
#include "supervisor/runtime/heap_file.h"
#include "supervisor/vats/vat_actions.h"

enum vat_event vat_save(struct vat *vat, const struct vat_input *input)
{
    static char place[] = WORKER_SAVE_PLACE;
    struct error error;

    (void)input;
    if (worker_process_begin_save(vat->process, &error) < 0)
        return vat_fail(vat, &error);
    vat_timer_start(&vat->timer, launcher_start_limit(vat->owner->options->timeout_ms));
    vat_send_frame(vat, COMMAND_SNAPSHOT, (struct iovec){place, strlen(place)});
    return VAT_EVENT_NONE;
}

static int put_in_store(struct vat *vat, int fd, struct error *error)
{
    struct store *store = vat->owner->options->store;
    struct store_snapshot snapshot;
    int64_t first, end;

    if (store_transcript_bounds(store, vat->id, vat->incarnation, &first, &end, error) != 0 ||
        store_snapshot_put(store, vat->id, vat->incarnation, end, fd, &snapshot, error) != 0)
        return -1;
    vat->saved_at = end;
    return vat_log_snapshot_save(&vat->log, end, &snapshot, error);
}

/* Whether the worker wrote what it says it wrote. */
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

enum vat_event vat_keep_snapshot(struct vat *vat, struct iovec payload)
{
    struct error error;
    const int fd = worker_process_saved(vat->process, &error);

    if (fd < 0)
        return vat_fail(vat, &error);
    if (check_written(fd, payload, &error) != 0) {
        vat_reason_set(&vat->reason, ERROR_SYSTEM, "its worker's snapshot is bad: %s", error.text);
        return VAT_EVENT_BAD;
    }
    return put_in_store(vat, fd, &error) == 0 ? VAT_EVENT_DONE : vat_fail(vat, &error);
}

enum vat_event vat_saved(struct vat *vat, const struct vat_input *input)
{
    const struct vat_owner *owner = vat->owner;

    (void)input;
    vat->wanted = true;
    vat_leave(vat);
    if (!owner->silent)
        owner->listener->saved(owner->listener->context, vat->id);
    return VAT_EVENT_NONE;
}
