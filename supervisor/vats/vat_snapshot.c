/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "proto/command.h"
#include "supervisor/vats/vat.h"

void vat_save(struct vat *vat, const struct vat_happening *happening)
{
    static char place[] = WORKER_SAVE_PLACE;
    struct error error;

    (void)happening;
    if (worker_process_begin_save(vat->process, &error) < 0) {
        warehouse_fail(vat->warehouse, &error);
        return;
    }
    vat_start_timer(vat, launcher_start_limit(vat->warehouse->options.timeout_ms));
    vat_send_frame(vat, COMMAND_SNAPSHOT, (struct iovec){place, strlen(place)});
}

static int keep(struct vat *vat, struct error *error)
{
    struct store *store = vat->warehouse->options.store;
    struct store_snapshot snapshot;
    int64_t first, end;
    int fd;

    if (store_transcript_bounds(store, vat->id, vat->incarnation, &first, &end, error) != 0)
        return -1;
    fd = worker_process_saved(vat->process, error);
    if (fd < 0 ||
        store_snapshot_put(store, vat->id, vat->incarnation, end, fd, &snapshot, error) != 0)
        return -1;
    vat->saved_at = end;
    return vat_log_snapshot_save(vat, end, &snapshot, error);
}

void vat_saved(struct vat *vat, const struct vat_happening *happening)
{
    struct warehouse *warehouse = vat->warehouse;
    struct error error;
    int result;

    (void)happening;
    result = keep(vat, &error);
    if (result != 0) {
        warehouse_fail(warehouse, &error);
        return;
    }
    vat->wanted = true;
    vat_leave(vat);
    warehouse->listener.saved(warehouse->listener.context, vat->id);
}
