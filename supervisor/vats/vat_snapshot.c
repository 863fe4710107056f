/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/command.h"
#include "supervisor/vats/vat.h"

/* Room for the path of a descriptor of ours, as other processes see it. */
enum { FD_PATH_SIZE = 48 };

void vat_save(struct vat *vat, const struct vat_happening *happening)
{
    char path[FD_PATH_SIZE];
    struct error error;
    int length;

    (void)happening;
    vat->snapshot_fd = memfd_create("gaspipe-snapshot", MFD_CLOEXEC);
    if (vat->snapshot_fd < 0) {
        error_system(&error, errno, "cannot make a file for a snapshot");
        warehouse_fail(vat->warehouse, &error);
        return;
    }
    length = snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), vat->snapshot_fd);
    vat_start_timer(vat, launcher_start_limit(vat->warehouse->options.timeout_ms));
    vat_send_frame(vat, COMMAND_SNAPSHOT, (struct iovec){path, (size_t)length});
}

static int keep(struct vat *vat, struct error *error)
{
    struct store *store = vat->warehouse->options.store;
    struct store_snapshot snapshot;
    int64_t first, end;

    if (store_transcript_bounds(store, vat->id, vat->incarnation, &first, &end, error) != 0)
        return -1;
    if (lseek(vat->snapshot_fd, 0, SEEK_SET) != 0)
        return error_system(error, errno, "cannot read a snapshot");
    if (store_snapshot_put(store, vat->id, vat->incarnation, end, vat->snapshot_fd, &snapshot,
                           error) != 0)
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
    close(vat->snapshot_fd);
    vat->snapshot_fd = -1;
    if (result != 0) {
        warehouse_fail(warehouse, &error);
        return;
    }
    vat->wanted = true;
    vat_leave(vat);
    warehouse->listener.saved(warehouse->listener.context, vat->id);
}
