/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "proto/command.h"
#include "supervisor/runtime/heap_file.h"
#include "supervisor/vats/vat_actions.h"

/* What takes its snapshot; *next_fd is where its next worker will find that, or -1: it needs none,
 * or cannot have it yet. */
static int expect_snapshot(struct vat *vat, int *next_fd, struct error *error)
{
    const struct placement *placement = vat->owner->options->launcher->placement;
    int succession[2] = {-1, -1};

    if (!vat->goes_on || vat->outdated)
        vat_open_succession(vat, succession);
    *next_fd = succession[0];
    if (worker_process_expect_save(vat->process, succession[1], &vat->head,
                                   placement_elsewhere(placement), error) == 0)
        return 0;
    if (*next_fd >= 0)
        close(*next_fd);
    *next_fd = -1;
    return -1;
}

/* Under QEMU a worker is started in 45 ms on an idle machine, in ten times less natively. */
static const int64_t START_TIME = 100000000;

int64_t vat_deliveries_ahead(const struct vat *vat, int64_t end)
{
    const int64_t made = end - vat->saved_at;
    int64_t time;
    double ahead;

    if (!vat->owner->options->launcher->counted || vat->saved_at < 0 || made <= 0)
        return 0;
    time = stamp_now().mono - vat->ready_at;
    if (time <= 0)
        return 0;
    ahead = (double)START_TIME * (double)made / (double)time;
    return ahead < INT32_MAX ? (int64_t)ahead : INT32_MAX;
}

void vat_expect_save(struct vat *vat)
{
    const bool works = vat->state == VAT_DELIVERING || vat->state == VAT_IDLE;
    struct error ignored; /* it is met again when the snapshot is due */
    int next_fd;

    if (!works || worker_process_expects_save(vat->process) || !vat_may_be_early(vat))
        return;
    if (expect_snapshot(vat, &next_fd, &ignored) == 0 && next_fd >= 0)
        vat_start_successor(vat, next_fd);
}

enum vat_event vat_save(struct vat *vat, const struct vat_input *input)
{
    static char place[] = WORKER_SAVE_PLACE;
    struct error error;
    int next_fd = -1;

    (void)input;
    if ((!worker_process_expects_save(vat->process) &&
         expect_snapshot(vat, &next_fd, &error) != 0) ||
        worker_process_begin_save(vat->process, &error) != 0) {
        if (next_fd >= 0)
            close(next_fd);
        return vat_fail(vat, &error);
    }
    vat_timer_start(&vat->timer, launcher_start_limit(vat->owner->options->timeout_ms));
    vat_send_frame(vat, COMMAND_SNAPSHOT, (struct iovec){place, strlen(place)});
    if (next_fd >= 0)
        vat_start_successor(vat, next_fd);
    return VAT_EVENT_NONE;
}

/* At once: its line is kept aside with others, which cannot wait for it. */
static int put_now(struct vat *vat, int64_t end, int fd, struct error *error)
{
    struct store_snapshot snapshot;

    if (store_snapshot_put(vat->owner->options->store, vat->id, vat->incarnation, end, fd,
                           &snapshot, error) != 0)
        return -1;
    return vat_log_snapshot_save(&vat->log, end, &snapshot, error);
}

static int on_kept(void *context, const struct store_snapshot *snapshot, struct error *error)
{
    return vat_late_lines_write(context, snapshot, error);
}

/* While the next worker reads what is in the same file. */
static int put_late(struct vat *vat, int64_t end, int fd, struct error *error)
{
    struct vat_owner *owner = vat->owner;
    struct store *store = owner->options->store;
    const struct store_late_listener listener = {.context = &owner->late, .kept = on_kept};
    const int packed = heap_file_reopen(fd, error);

    if (packed < 0)
        return -1;
    vat->fresh_fd = heap_file_reopen(fd, error);
    if (vat->fresh_fd < 0 || store_transaction_begin(store, error) != 0) {
        close(packed);
        return -1;
    }
    if (store_snapshot_put_late(store, vat->id, vat->incarnation, end, packed, &listener, error) !=
        0)
        return -1;
    vat_late_lines_save(&owner->late, &vat->log, end);
    return 0;
}

static int put_in_store(struct vat *vat, int fd, struct error *error)
{
    int64_t first, end;

    if (store_transcript_bounds(vat->owner->options->store, vat->id, vat->incarnation, &first, &end,
                                error) != 0 ||
        (vat->log.aside != NULL ? put_now(vat, end, fd, error) : put_late(vat, end, fd, error)) !=
            0)
        return -1;
    vat->saved_at = end;
    return 0;
}

/* Whether the worker wrote what it says it wrote; *as_loaded is what else it says. */
static int check_written(int fd, struct iovec payload, bool *as_loaded, struct error *error)
{
    struct meter meter;
    struct iovec reply;
    int result;

    if (meter_split(payload, &meter, &reply, error) != 0)
        return -1;
    *as_loaded = meter.as_loaded;
    result = heap_file_check(fd, reply, error);
    meter_free(&meter);
    return result;
}

enum vat_event vat_keep_snapshot(struct vat *vat, struct iovec payload)
{
    bool as_loaded = false;
    struct error error;
    const int fd = worker_process_saved(vat->process, &error);

    if (fd < 0 && error.kind == ERROR_SYSTEM)
        return vat_fail(vat, &error);
    if (fd < 0 || check_written(fd, payload, &as_loaded, &error) != 0) {
        vat_reason_set(&vat->reason, ERROR_SYSTEM, "its worker's snapshot is bad: %s", error.text);
        return VAT_EVENT_BAD;
    }
    vat->goes_on = as_loaded && vat_may_be_early(vat);
    if (!save_head_fits_file(&vat->head, fd))
        successor_drop(&vat->successor); /* it has made a smaller heap */
    if (put_in_store(vat, fd, &error) != 0)
        return vat_fail(vat, &error);
    worker_process_drop_saved(vat->process);
    return VAT_EVENT_DONE;
}

void vat_drop_fresh(struct vat *vat)
{
    if (vat->fresh_fd >= 0)
        close(vat->fresh_fd);
    vat->fresh_fd = -1;
    successor_drop(&vat->successor);
}

enum vat_event vat_saved(struct vat *vat, const struct vat_input *input)
{
    const struct vat_owner *owner = vat->owner;
    const bool retired = vat_go_on(vat) || vat_retire(vat);

    (void)input;
    vat->wanted = vat->unproven = true;
    vat->falls_back = false;
    if (!retired)
        vat_leave(vat);
    if (!owner->silent)
        owner->listener->saved(owner->listener->context, vat->id);
    return retired ? VAT_EVENT_RETIRED : VAT_EVENT_NONE;
}
