/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/vat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/command.h"
#include "supervisor/process/worker_exit.h"
#include "supervisor/vats/vat_actions.h"

static void take_event(struct vat *vat, const struct vat_input *input);

/* ---- what its worker and the clock tell, as events ---- */

static void on_vat_frame(void *context, struct iovec bytes, struct stamp come)
{
    struct vat *vat = context;
    struct vat_frame frame;
    struct vat_input input = {.frame = &frame};

    vat_frame_read(&frame, vat->state, bytes, come, &vat->reason);
    input.event = frame.event;
    if (input.event == VAT_EVENT_DONE && vat->state == VAT_SAVING)
        input.event = vat_keep_snapshot(vat, frame.payload);
    take_event(vat, &input);
    vat_frame_free(&frame);
}

static void on_vat_bad_frame(void *context, const struct error *error)
{
    struct vat *vat = context;

    vat_reason_set(&vat->reason, ERROR_SYSTEM, "its worker's frames are broken: %s", error->text);
    vat_happen(vat, VAT_EVENT_BAD);
}

/* The last line waits: if the worker ends now, it says why. */
static void on_vat_stderr(void *context, const char *line)
{
    struct vat *vat = context;

    vat_show_stderr(vat);
    snprintf(vat->stderr_line, sizeof vat->stderr_line, "%s", line);
}

static void on_vat_gone(void *context, int exit_status, int signal_number)
{
    const struct vat_input input = {
        .event = VAT_EVENT_GONE,
        .exit_status = exit_status,
        .signal_number = signal_number,
    };

    take_event(context, &input);
}

static void on_vat_timeout(void *context)
{
    struct vat *vat = context;

    vat_reason_set(&vat->reason, ERROR_SYSTEM, "it took longer than %g s",
                   (double)vat->timer.limit_ms / 1000);
    vat->reason.cause = VAT_CAUSE_TIME;
    vat_happen(vat, VAT_EVENT_TIMEOUT);
}

/* ---- actions of a worker's life ---- */

static enum vat_event start_worker(struct vat *vat, const struct vat_input *input)
{
    const struct worker_listener listener = {
        .context = vat,
        .frame = on_vat_frame,
        .bad_frame = on_vat_bad_frame,
        .stderr_line = on_vat_stderr,
        .gone = on_vat_gone,
    };

    (void)input;
    return vat_start(vat, &listener);
}

static enum vat_event kill_worker(struct vat *vat, const struct vat_input *input)
{
    if (input->event == VAT_EVENT_FAILED)
        vat_reason_set(&vat->reason, ERROR_SYSTEM, "its worker threw out of a command: %.*s",
                       (int)input->frame->payload.iov_len,
                       (const char *)input->frame->payload.iov_base);
    else
        vat_reason_set(&vat->reason, ERROR_SYSTEM, "its worker spoke out of turn");
    vat_timer_stop(&vat->timer);
    worker_process_kill(vat->process);
    return VAT_EVENT_NONE;
}

/* It may be busy, or hang: it would not hear of the pipe's end. */
static enum vat_event dismiss(struct vat *vat, const struct vat_input *input)
{
    (void)input;
    vat_timer_stop(&vat->timer);
    worker_process_kill(vat->process);
    return VAT_EVENT_NONE;
}

static enum vat_event hang_up(struct vat *vat, const struct vat_input *input)
{
    (void)input;
    vat_leave(vat);
    return VAT_EVENT_NONE;
}

static enum vat_event reap(struct vat *vat, const struct vat_input *input)
{
    char ended[VAT_REASON_SIZE];
    const enum error_kind blame = worker_exit_describe(input->exit_status, input->signal_number,
                                                       vat->stderr_line, ended, sizeof ended);

    vat_reason_set(&vat->reason, blame, "%s", ended);
    if (worker_exit_is_crash(input->signal_number))
        vat->reason.cause = VAT_CAUSE_CRASH;
    else if (worker_exit_is_memory(input->exit_status, input->signal_number))
        vat->reason.cause = VAT_CAUSE_MEMORY;
    vat_release(vat);
    return VAT_EVENT_NONE;
}

static enum vat_event lose(struct vat *vat, const struct vat_input *input)
{
    (void)input;
    vat_release(vat);
    return VAT_EVENT_NONE;
}

static enum vat_event do_nothing(struct vat *vat, const struct vat_input *input)
{
    (void)vat;
    (void)input;
    return VAT_EVENT_NONE;
}

static enum vat_event forbidden(struct vat *vat, const struct vat_input *input)
{
    log_line("%s: event %d cannot happen now", vat->log.vat_id, input->event);
    abort();
}

static enum vat_event act(struct vat *vat, enum vat_action action, const struct vat_input *input)
{
    static enum vat_event (*const actions[VAT_ACTIONS])(struct vat *, const struct vat_input *) = {
        [VAT_ACT_FORBIDDEN] = forbidden,
        [VAT_ACT_NOTHING] = do_nothing,
        [VAT_ACT_PREPARE] = vat_prepare,
        [VAT_ACT_START] = start_worker,
        [VAT_ACT_STARTED] = vat_started,
        [VAT_ACT_LOAD] = vat_load,
        [VAT_ACT_ANSWER_LOADING] = vat_answer_loading,
        [VAT_ACT_REPLAY] = vat_catch_up,
        [VAT_ACT_ANSWER_RECORDED] = vat_answer_recorded,
        [VAT_ACT_COMPARE] = vat_compare,
        [VAT_ACT_READY] = vat_ready,
        [VAT_ACT_DELIVER] = vat_deliver,
        [VAT_ACT_ANSWER] = vat_answer,
        [VAT_ACT_STOP] = vat_stop,
        [VAT_ACT_NOTE_STOP] = vat_note_stop,
        [VAT_ACT_FINISH] = vat_finish,
        [VAT_ACT_SAVE] = vat_save,
        [VAT_ACT_SAVED] = vat_saved,
        [VAT_ACT_KILL] = kill_worker,
        [VAT_ACT_DISMISS] = dismiss,
        [VAT_ACT_HANG_UP] = hang_up,
        [VAT_ACT_REAP] = reap,
        [VAT_ACT_LOSE] = lose,
        [VAT_ACT_FORGET] = lose,
    };

    return actions[action](vat, input);
}

/* Tells the owner what the step came to, when nothing follows. */
static void tell_owner(struct vat *vat, enum vat_state before, enum vat_action action)
{
    struct vat_owner *owner = vat->owner;
    const bool ended = action == VAT_ACT_REAP || action == VAT_ACT_LOSE;

    if (ended || action == VAT_ACT_KILL)
        owner->lost(owner->context, vat, before);
    /* The owner may have asked for another worker already. */
    if ((ended && vat->state == VAT_AWAY) || action == VAT_ACT_FORGET)
        owner->away(owner->context, vat);
    else if (vat->state == VAT_IDLE)
        owner->idle(owner->context, vat);
}

static void take_event(struct vat *vat, const struct vat_input *input)
{
    struct vat_input next = *input;

    while (next.event != VAT_EVENT_NONE) {
        const enum vat_state before = vat->state;
        const struct vat_step step = vat_step(before, next.event);
        enum vat_event follows;

        vat->state = step.next;
        if (step.next != VAT_DELIVERING)
            vat_release_cpu(vat);
        follows = act(vat, step.action, &next);
        if (follows == VAT_EVENT_NONE)
            tell_owner(vat, before, step.action);
        next = (struct vat_input){.event = follows};
    }
}

void vat_happen(struct vat *vat, enum vat_event event)
{
    take_event(vat, &(struct vat_input){.event = event});
}

/* ---- what its owner wants ---- */

void vat_put_away(struct vat *vat)
{
    vat->vd = NULL;
    vat->speculative = false;
    vat_drop_fresh(vat);
    vat_happen(vat, VAT_EVENT_PUT_AWAY);
}

void vat_refuse(struct vat *vat, const char *reason)
{
    vat_reason_set(&vat->reason, ERROR_DELIVERY, "%s", reason);
    vat_happen(vat, VAT_EVENT_REFUSED);
}

struct stamp vat_reply(struct vat *vat, struct iovec answer)
{
    return vat_send_frame(vat, COMMAND_ANSWER, answer);
}

bool vat_is_speculative(const struct vat *vat)
{
    return vat->speculative &&
           (vat->state == VAT_DELIVERING || vat->state == VAT_STOPPING || vat->state == VAT_IDLE);
}

void vat_prepare_again(struct vat *vat, enum warm_start_result result, const struct error *error)
{
    vat_happen(vat, vat_prepared(vat, result, error));
}

/* ---- beginning and end ---- */

struct vat *vat_new(struct vat_owner *owner, const struct warehouse_vat *described)
{
    struct vat *vat = calloc(1, sizeof *vat);

    if (vat == NULL)
        return NULL;
    vat->owner = owner;
    vat->id = described->id;
    vat->dynamic = described->dynamic;
    vat->incarnation = described->incarnation;
    vat->replay.first_num = described->first_delivery;
    vat->deliveries = described->deliveries;
    vat->limits = described->limits;
    vat->heap_fd = vat->fresh_fd = -1;
    vat->last_cpu = -1;
    vat->log.slog = owner->options->slog;
    snprintf(vat->log.vat_id, sizeof vat->log.vat_id, "v%" PRId64, vat->id);
    vat_timer_init(&vat->timer, owner->options->loop, on_vat_timeout, vat);
    vat->name = strdup(described->name);
    vat->bundle_id = strdup(described->bundle_id);
    return vat;
}

static void free_vat(uv_handle_t *timer)
{
    struct vat *vat = ((struct vat_timer *)timer->data)->context;
    struct error ignored;

    (void)slog_writer_join(NULL, vat->log.aside, &ignored); /* of a vat that is no more */
    vat_drop_fresh(vat);
    buf_free(&vat->bundle);
    meter_free(&vat->used);
    vat_replay_free(&vat->replay);
    free(vat->name);
    free(vat->bundle_id);
    free(vat);
}

void vat_close(struct vat *vat)
{
    uv_close((uv_handle_t *)&vat->timer.handle, free_vat);
}
