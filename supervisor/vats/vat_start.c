/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/command.h"
#include "supervisor/runtime/heap_file.h"
#include "supervisor/vats/vat_actions.h"

/* ---- the snapshot that it starts from ---- */

static int read_bundle(struct vat *vat, struct error *error)
{
    struct vat_owner *owner = vat->owner;
    bool found = false;

    buf_clear(&vat->bundle);
    if (store_bundle_get(owner->options->store, vat->identity.bundle_id, &vat->bundle, &found,
                         error) != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_SYSTEM, "the store has no bundle %.200s",
                         vat->identity.bundle_id);
    /* The zeros terminate it, too. */
    if (buf_reserve(&vat->bundle, SCAN_PADDING) != 0)
        return error_memory(error, "a bundle");
    memset(vat->bundle.data + vat->bundle.length, 0, SCAN_PADDING);
    return vat_runtime_choose(&owner->runtimes,
                              (struct scan_span){vat->bundle.data, vat->bundle.length},
                              &vat->runtime, error);
}

static int find_past(struct vat *vat, struct error *error)
{
    const struct vat_transcript transcript = {vat->owner->options->store, vat->identity.id,
                                              vat->identity.incarnation};

    vat->replay.position = 0;
    if (vat_replay_find_end(&vat->replay, &transcript, error) != 0)
        return -1;
    if (vat->replay.end >= vat->identity.deliveries)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "its transcript ends after delivery %" PRId64 " of %" PRId64, vat->replay.end,
                     vat->identity.deliveries);
}

static int log_start(struct vat *vat, struct error *error)
{
    const struct iovec bundle = {vat->bundle.data, vat->bundle.length};

    if (vat_log_create(&vat->log, vat->identity.name, vat->identity.dynamic, bundle, error) != 0)
        return -1;
    return vat_log_startup_start(&vat->log, error);
}

static enum vat_event fail_to_prepare(struct vat *vat, struct error *error)
{
    error_prefix(error, "vat %s", vat_name(vat));
    (void)vat_fail(vat, error);
    return VAT_EVENT_UNSTARTED;
}

static enum vat_event lose_past(struct vat *vat, const struct error *error)
{
    (void)vat_lose_past(vat, error);
    return VAT_EVENT_UNSTARTED;
}

static enum vat_event lack_process(struct vat *vat, const struct error *error)
{
    vat_reason_set(&vat->reason, ERROR_SYSTEM, "%s", error->text);
    vat->reason.cause = VAT_CAUSE_NO_PROCESS;
    return VAT_EVENT_UNSTARTED;
}

/* The file that its last worker wrote, which the store has or will have. */
static enum vat_event open_fresh_snapshot(struct vat *vat)
{
    struct vat_owner *owner = vat->owner;
    struct store_snapshot snapshot;
    struct error error;
    bool found;

    vat->origin.kind = VAT_ORIGIN_SNAPSHOT;
    vat->replay.position = vat->saved_at;
    if (vat->log.slog == NULL || vat_late_lines_load(&owner->late, &vat->log))
        return VAT_EVENT_PREPARED;
    if (store_snapshot_last(owner->options->store, vat->identity.id, vat->identity.incarnation,
                            &vat->replay.position, &snapshot, &found, &error) != 0 ||
        vat_log_snapshot_load(&vat->log, vat->replay.position, snapshot.hash, &error) != 0)
        return fail_to_prepare(vat, &error);
    return VAT_EVENT_PREPARED;
}

/* The vat's own snapshot to start from, where it has one. */
static int find_own_snapshot(struct vat *vat, struct store_snapshot *snapshot, bool *found,
                             struct error *error)
{
    struct store *store = vat->owner->options->store;

    if (vat->falls_back)
        return store_snapshot_before(store, vat->identity.id, vat->identity.incarnation,
                                     &vat->replay.position, snapshot, found, error);
    vat->saved_at = -1;
    if (store_snapshot_last(store, vat->identity.id, vat->identity.incarnation,
                            &vat->replay.position, snapshot, found, error) != 0)
        return -1;
    if (*found)
        vat->saved_at = vat->replay.position;
    return 0;
}

/* In a file. */
static enum vat_event open_own_snapshot(struct vat *vat, const struct store_snapshot *snapshot)
{
    struct error error;

    vat->origin.kind = VAT_ORIGIN_SNAPSHOT;
    vat->origin.file = heap_file_new(&error);
    if (vat->origin.file < 0)
        return lack_process(vat, &error);
    if (store_snapshot_read(vat->owner->options->store, snapshot->hash, vat->origin.file, &error) !=
        0)
        return lose_past(vat, &error);
    if (vat_log_snapshot_load(&vat->log, vat->replay.position, snapshot->hash, &error) != 0)
        return fail_to_prepare(vat, &error);
    return VAT_EVENT_PREPARED;
}

/* Its runtime's snapshot, or what became of it. */
static enum vat_event take_warm_start(struct vat *vat, int fd, struct error *error)
{
    vat->origin.kind = VAT_ORIGIN_RUNTIME;
    vat->origin.file = fd >= 0 ? fd : -1;
    if (fd >= 0)
        return VAT_EVENT_PREPARED;
    if (fd == WARM_START_MAKING)
        return VAT_EVENT_NONE;
    if (fd == WARM_START_FAILED)
        return fail_to_prepare(vat, error);
    return lack_process(vat, error);
}

enum vat_event vat_prepare(struct vat *vat, const struct vat_input *input)
{
    struct store_snapshot snapshot;
    struct error error;
    bool found;

    (void)input;
    vat->reason = (struct vat_reason){0};
    vat->stderr_line[0] = '\0';
    vat->delivery.turn = VAT_TURN_DUE;
    if (read_bundle(vat, &error) != 0 || find_past(vat, &error) != 0)
        return lose_past(vat, &error);
    if (log_start(vat, &error) != 0)
        return fail_to_prepare(vat, &error);
    if (vat->origin.file >= 0)
        return open_fresh_snapshot(vat);
    if (find_own_snapshot(vat, &snapshot, &found, &error) != 0)
        return lose_past(vat, &error);
    if (found)
        return open_own_snapshot(vat, &snapshot);
    return take_warm_start(vat, warm_start_open(&vat->owner->warm, &vat->runtime, &error), &error);
}

enum vat_event vat_prepared(struct vat *vat, enum warm_start_result result,
                            const struct error *made)
{
    struct error error = *made;
    int fd = result;

    if (result == WARM_START_READY)
        fd = warm_start_open(&vat->owner->warm, &vat->runtime, &error);
    return take_warm_start(vat, fd, &error);
}

/* ---- its worker ---- */

enum vat_event vat_start(struct vat *vat, const struct worker_listener *listener)
{
    struct zygote_policy *policy =
        vat->origin.kind == VAT_ORIGIN_SNAPSHOT
            ? NULL
            : warm_start_zygote_policy(&vat->owner->warm, vat->runtime.kind);
    struct error error;

    vat->process = vat_launch(vat, vat->origin.file, policy, listener, &error);
    vat_close_origin(vat);
    if (vat->process == NULL)
        return lack_process(vat, &error);
    vat_timer_start(&vat->timer, launcher_start_limit(vat->owner->options->timeout_ms));
    vat_send_frame(vat, COMMAND_READY, (struct iovec){0});
    return VAT_EVENT_NONE;
}

enum vat_event vat_started(struct vat *vat, const struct vat_input *input)
{
    (void)input;
    return vat->origin.kind == VAT_ORIGIN_SNAPSHOT ? VAT_EVENT_RESTORED : VAT_EVENT_FRESH;
}

/* ---- its contract ---- */

enum vat_event vat_load(struct vat *vat, const struct vat_input *input)
{
    enum vat_event next = VAT_EVENT_NONE;
    struct buf message = {0};
    struct error error;

    (void)input;
    vat_message_set_bundle(&message, vat->log.vat_id, vat->bundle.data, vat->runtime.options);
    buf_free(&vat->bundle);
    if (buf_failed(&message)) {
        error_memory(&error, "a message to a vat");
        next = vat_fail(vat, &error);
    } else {
        vat_send_frame(vat, COMMAND_DELIVER, (struct iovec){message.data, message.length});
    }
    buf_free(&message);
    return next;
}

enum vat_event vat_answer_loading(struct vat *vat, const struct vat_input *input)
{
    const struct vat_request *request = &input->frame->request;

    if (request->kind == VAT_REQUEST_CONSOLE) {
        vat_answer_console(vat);
        return VAT_EVENT_NONE;
    }
    vat_reason_set(&vat->reason, ERROR_DELIVERY, "it asked for %s while it was loaded",
                   request->syscall.name);
    return VAT_EVENT_BAD;
}
