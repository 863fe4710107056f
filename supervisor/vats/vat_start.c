/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/command.h"
#include "slog/model/describe.h"
#include "supervisor/runtime/heap_file.h"
#include "supervisor/vats/vat.h"

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
    int64_t first;

    vat->replay.position = 0;
    if (store_transcript_bounds(vat->owner->options->store, vat->identity.id,
                                vat->identity.incarnation, &first, &vat->replay.end, error) != 0)
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

static enum vat_event lack_worker(struct vat *vat, enum vat_cause cause, const struct error *error)
{
    vat_reason_set(&vat->reason, ERROR_SYSTEM, "%s", error->text);
    vat->reason.cause = cause;
    return VAT_EVENT_UNSTARTED;
}

static enum vat_event lack_process(struct vat *vat, const struct error *error)
{
    return lack_worker(vat, VAT_CAUSE_NO_PROCESS, error);
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
    if (vat->log.slog == NULL || vat_pending_lines_load(&owner->pending, &vat->log))
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
static enum vat_event take_runtime_snapshot(struct vat *vat, int fd, struct error *error)
{
    vat->origin.kind = VAT_ORIGIN_RUNTIME;
    vat->origin.file = fd >= 0 ? fd : -1;
    if (fd >= 0)
        return VAT_EVENT_PREPARED;
    if (fd == RUNTIME_SNAPSHOT_MAKING)
        return VAT_EVENT_NONE;
    if (fd == RUNTIME_SNAPSHOT_FAILED)
        return fail_to_prepare(vat, error);
    return lack_process(vat, error);
}

enum vat_event vat_prepare(struct vat *vat)
{
    struct store_snapshot snapshot;
    struct error error;
    bool found;

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
    return take_runtime_snapshot(
        vat, runtime_snapshot_open(&vat->owner->runtime_snapshots, &vat->runtime, &error), &error);
}

enum vat_event vat_prepared(struct vat *vat, enum runtime_snapshot_result result,
                            const struct error *made)
{
    struct error error = *made;
    int fd = result;

    /* A worker that cannot run this vat's runtime may be the only faulty one. */
    if (result == RUNTIME_SNAPSHOT_LOST)
        return lack_worker(vat, VAT_CAUSE_WORKER, made);
    if (result == RUNTIME_SNAPSHOT_READY)
        fd = runtime_snapshot_open(&vat->owner->runtime_snapshots, &vat->runtime, &error);
    return take_runtime_snapshot(vat, fd, &error);
}

/* ---- its worker ---- */

enum vat_event vat_start(struct vat *vat, const struct worker_listener *listener)
{
    struct zygote_policy *policy =
        vat->origin.kind == VAT_ORIGIN_SNAPSHOT
            ? NULL
            : runtime_snapshot_zygote_policy(&vat->owner->runtime_snapshots, vat->runtime.kind);
    struct error error;

    vat->process = vat_launch(vat, vat->origin.file, policy, listener, &error);
    vat_close_origin(vat);
    if (vat->process == NULL)
        return lack_process(vat, &error);
    vat_timer_start(&vat->timer, launcher_start_limit(vat->owner->options->timeout_ms));
    vat_send_frame(vat, COMMAND_READY, (struct iovec){0});
    return VAT_EVENT_NONE;
}

/* ---- its contract ---- */

enum vat_event vat_load(struct vat *vat)
{
    enum vat_event next = VAT_EVENT_NONE;
    struct buf message = {0};
    struct error error;

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

enum vat_event vat_answer_loading(struct vat *vat, const struct vat_frame *frame)
{
    const struct vat_request *request = &frame->request;

    if (request->kind == VAT_REQUEST_CONSOLE) {
        vat_answer_console(vat);
        return VAT_EVENT_NONE;
    }
    vat_reason_set(&vat->reason, ERROR_DELIVERY,
                   "it made the syscall %s while its contract was loaded", request->syscall.name);
    return VAT_EVENT_BAD;
}

/* ---- the replay: comparing with the transcript ---- */

/* Bytes of each side of a difference that are shown. */
enum { SHOWN_MAX = 160 };

static int64_t vat_replay_num(const struct vat_replay *replay)
{
    return replay->first_num + replay->position;
}

static int64_t vat_replay_syscall_num(const struct vat_replay *replay)
{
    return (int64_t)replay->compare.made - 1;
}

/* Its instruction count is compared if the same counter took it. */
static int read_recorded(struct vat *vat, struct error *error)
{
    const struct warehouse_options *options = vat->owner->options;
    struct vat_replay *replay = &vat->replay;

    replay->rules = (struct compare_rules){.fingerprint = options->fingerprint};
    replay->compare.recorded = &replay->recorded;
    replay->compare.rules = &replay->rules;
    replay->compare.made = 0;
    return recorded_delivery_fetch(&replay->recorded, options->store, vat->identity.id,
                                   vat->identity.incarnation, replay->position, error);
}

static int shown_length(const struct buf *side)
{
    return side->length < SHOWN_MAX ? (int)side->length : SHOWN_MAX;
}

static void set_difference_reason(const struct vat_replay *replay, struct vat_reason *reason)
{
    const struct difference *difference = &replay->compare.difference;
    const struct buf *recorded = &difference->recorded, *replayed = &difference->replayed;
    char number[24] = "";

    if (difference->aspect == COMPARE_SYSCALL)
        snprintf(number, sizeof number, " %" PRId64, difference->syscall_num);
    vat_reason_set(reason, ERROR_INPUT,
                   "delivery %" PRId64
                   ", %s%s differs from its transcript: recorded %.*s, now %.*s",
                   vat_replay_num(replay), compare_aspect_names[difference->aspect], number,
                   shown_length(recorded), recorded->length > 0 ? recorded->data : "",
                   shown_length(replayed), replayed->length > 0 ? replayed->data : "");
}

/* The scanner reads whole blocks, beyond the text's end. */
static bool copy_request(struct vat_replay *replay, struct iovec payload)
{
    struct buf *request = &replay->request;

    buf_clear(request);
    buf_append(request, payload.iov_base, payload.iov_len);
    if (buf_reserve(request, SCAN_PADDING) != 0)
        return false;
    memset(request->data + request->length, 0, SCAN_PADDING);
    return true;
}

enum vat_replay_request {
    VAT_REPLAY_CONSOLE, /* a console call; they are not recorded */
    VAT_REPLAY_SYSCALL, /* the syscall that was recorded */
    VAT_REPLAY_DIFFERS, /* the reason says in what */
    VAT_REPLAY_FAILED,  /* out of memory */
};

/* texts[0] and texts[1] are the syscall and its answer as recorded, which stay until the next
 * read_recorded(). */
static enum vat_replay_request compare_recorded_request(struct vat_replay *replay,
                                                        struct iovec payload,
                                                        struct scan_span texts[2],
                                                        struct vat_reason *reason)
{
    struct scan_span message;

    if (!copy_request(replay, payload))
        return VAT_REPLAY_FAILED;
    message = (struct scan_span){replay->request.data, replay->request.length};
    if (scan_is(describe_kind(message), "sourcedConsole"))
        return VAT_REPLAY_CONSOLE;
    if (delivery_compare_syscall(&replay->compare, message, &texts[1]) != COMPARE_SAME) {
        set_difference_reason(replay, reason);
        return VAT_REPLAY_DIFFERS;
    }
    texts[0] = replay->recorded.syscalls[replay->compare.made - 1].made;
    return VAT_REPLAY_SYSCALL;
}

static int set_replayed_outcome(struct delivery_outcome *outcome, const struct vat_frame *ending,
                                struct error *error)
{
    outcome->meter = ending->meter;
    outcome->metered = true;
    if (ending->problem != NULL)
        return delivery_outcome_fail(outcome, ending->problem, strlen(ending->problem), error);
    return buf_append_string(&outcome->status, "ok") == 0 ? 0 : error_memory(error, "a result");
}

static bool compare_recorded_ending(struct vat_replay *replay, const struct vat_frame *ending,
                                    struct vat_reason *reason)
{
    struct delivery_outcome outcome = {0};
    struct error error;
    bool same = false;

    if (set_replayed_outcome(&outcome, ending, &error) != 0)
        vat_reason_set(reason, ERROR_SYSTEM, "%s", error.text);
    else if (delivery_compare_outcome(&replay->compare, &outcome) == COMPARE_SAME)
        same = true;
    else
        set_difference_reason(replay, reason);
    buf_free(&outcome.status);
    buf_free(&outcome.problem);
    return same;
}

void vat_replay_free(struct vat_replay *replay)
{
    recorded_delivery_free(&replay->recorded);
    difference_free(&replay->compare.difference);
    buf_free(&replay->request);
}

/* ---- delivery after delivery ---- */

static struct vat_log_delivery replayed_delivery(const struct vat *vat)
{
    return (struct vat_log_delivery){
        .num = vat_replay_num(&vat->replay),
        .vd = vat->replay.recorded.delivery,
        .sent = vat->replay.sent,
    };
}

static enum vat_event send_replayed(struct vat *vat)
{
    const struct warehouse_options *options = vat->owner->options;
    struct vat_log_delivery delivery;
    struct error error;

    if (read_recorded(vat, &error) != 0)
        return vat_lose_past(vat, &error);
    delivery = replayed_delivery(vat);
    vat_timer_start(&vat->timer, options->timeout_ms);
    vat->replay.sent = delivery.sent =
        vat_send_delivery(vat, (struct iovec){(char *)delivery.vd.at, delivery.vd.length});
    return vat_log_replay_deliver(&vat->log, &delivery, &error) == 0 ? VAT_EVENT_NONE
                                                                     : vat_fail(vat, &error);
}

/* The next delivery, or the end of the replay. */
static enum vat_event replay_next_delivery(struct vat *vat)
{
    struct error error;

    if (vat->replay.position < vat->replay.end)
        return send_replayed(vat);
    return vat_log_replay_finish(&vat->log, &error) == 0 ? VAT_EVENT_CAUGHT_UP
                                                         : vat_fail(vat, &error);
}

enum vat_event vat_catch_up(struct vat *vat)
{
    struct error error;

    vat_timer_stop(&vat->timer);
    buf_free(&vat->bundle);
    if (vat_log_startup_finish(&vat->log, &error) != 0 ||
        vat_log_replay_start(&vat->log, vat->replay.end - vat->replay.position, &error) != 0)
        return vat_fail(vat, &error);
    return replay_next_delivery(vat);
}

static enum vat_event answer_as_recorded(struct vat *vat, const struct scan_span texts[2],
                                         struct stamp come)
{
    const struct vat_log_delivery delivery = replayed_delivery(vat);
    const struct stamp answered =
        vat_send_frame(vat, COMMAND_ANSWER, (struct iovec){(char *)texts[1].at, texts[1].length});
    const struct stamp stamps[2] = {come, answered};
    struct error error;

    if (vat_log_replay_syscall(&vat->log, &delivery, vat_replay_syscall_num(&vat->replay), texts,
                               stamps, &error) != 0)
        return vat_fail(vat, &error);
    return VAT_EVENT_NONE;
}

enum vat_event vat_answer_recorded(struct vat *vat, const struct vat_frame *frame)
{
    struct scan_span texts[2];
    struct error error;

    switch (compare_recorded_request(&vat->replay, frame->payload, texts, &vat->reason)) {
    case VAT_REPLAY_CONSOLE:
        vat_answer_console(vat);
        return VAT_EVENT_NONE;
    case VAT_REPLAY_SYSCALL:
        return answer_as_recorded(vat, texts, frame->come);
    case VAT_REPLAY_DIFFERS:
        return VAT_EVENT_BAD;
    case VAT_REPLAY_FAILED:
        break;
    }
    error_memory(&error, "a syscall");
    return vat_fail(vat, &error);
}

enum vat_event vat_compare(struct vat *vat, const struct vat_frame *frame)
{
    const struct vat_log_delivery delivery = replayed_delivery(vat);
    struct error error;

    vat_timer_stop(&vat->timer);
    if (!compare_recorded_ending(&vat->replay, frame, &vat->reason))
        return VAT_EVENT_BAD;
    if (vat_log_replay_result(&vat->log, &delivery, frame, &error) != 0)
        return vat_fail(vat, &error);
    vat->stderr_line[0] = '\0'; /* it was shown when it was new */
    vat->replay.position++;
    return replay_next_delivery(vat);
}

enum vat_event vat_ready(struct vat *vat)
{
    vat_clear_start(vat);
    vat->unproven = false;
    vat->log.quiet = false;
    if (vat->owner->silent)
        return VAT_EVENT_NONE;
    if (vat->delivery.text != NULL)
        return VAT_EVENT_DELIVER;
    vat_report(vat, &(struct warehouse_event){.kind = WAREHOUSE_EVENT_READY});
    return VAT_EVENT_NONE;
}
