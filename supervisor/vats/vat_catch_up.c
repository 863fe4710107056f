/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/command.h"
#include "supervisor/vats/vat_actions.h"

static struct vat_log_delivery replayed_delivery(const struct vat *vat)
{
    return (struct vat_log_delivery){
        .num = vat_replay_num(&vat->replay),
        .vd = vat->replay.recorded.delivery,
        .sent = vat->replay_sent,
    };
}

static enum vat_event send_replayed(struct vat *vat)
{
    const struct warehouse_options *options = vat->owner->options;
    const struct vat_transcript transcript = {options->store, vat->id, vat->incarnation};
    struct vat_log_delivery delivery;
    struct error error;

    if (vat_replay_read(&vat->replay, &transcript, options->fingerprint, &error) != 0)
        return vat_lose_past(vat, &error);
    delivery = replayed_delivery(vat);
    vat_timer_start(&vat->timer, options->timeout_ms);
    vat->replay_sent = delivery.sent =
        vat_send_delivery(vat, (struct iovec){(char *)delivery.vd.at, delivery.vd.length});
    return vat_log_replay_deliver(&vat->log, &delivery, &error) == 0 ? VAT_EVENT_NONE
                                                                     : vat_fail(vat, &error);
}

/* The next delivery, or the end of the replay. */
static enum vat_event go_on_replaying(struct vat *vat)
{
    struct error error;

    if (vat->replay.position < vat->replay.end)
        return send_replayed(vat);
    return vat_log_replay_finish(&vat->log, &error) == 0 ? VAT_EVENT_CAUGHT_UP
                                                         : vat_fail(vat, &error);
}

enum vat_event vat_catch_up(struct vat *vat, const struct vat_input *input)
{
    struct error error;

    (void)input;
    vat_timer_stop(&vat->timer);
    buf_free(&vat->bundle);
    if (vat_log_startup_finish(&vat->log, &error) != 0 ||
        vat_log_replay_start(&vat->log, vat->replay.end - vat->replay.position, &error) != 0)
        return vat_fail(vat, &error);
    return go_on_replaying(vat);
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

enum vat_event vat_answer_recorded(struct vat *vat, const struct vat_input *input)
{
    struct scan_span texts[2];
    struct error error;

    switch (vat_replay_compare_request(&vat->replay, input->frame->payload, texts, &vat->reason)) {
    case VAT_REPLAY_CONSOLE:
        vat_answer_console(vat);
        return VAT_EVENT_NONE;
    case VAT_REPLAY_SYSCALL:
        return answer_as_recorded(vat, texts, input->frame->come);
    case VAT_REPLAY_DIFFERS:
        return VAT_EVENT_BAD;
    case VAT_REPLAY_FAILED:
        break;
    }
    error_memory(&error, "a syscall");
    return vat_fail(vat, &error);
}

enum vat_event vat_compare(struct vat *vat, const struct vat_input *input)
{
    const struct vat_log_delivery delivery = replayed_delivery(vat);
    struct error error;

    vat_timer_stop(&vat->timer);
    if (!vat_replay_compare_ending(&vat->replay, input->frame, &vat->reason))
        return VAT_EVENT_BAD;
    if (vat_log_replay_result(&vat->log, &delivery, input->frame, &error) != 0)
        return vat_fail(vat, &error);
    vat->stderr_line[0] = '\0'; /* it was shown when it was new */
    vat->replay.position++;
    return go_on_replaying(vat);
}

enum vat_event vat_ready(struct vat *vat, const struct vat_input *input)
{
    const struct vat_owner *owner = vat->owner;

    (void)input;
    vat->wanted = vat->unproven = false;
    vat->log.quiet = false;
    if (owner->silent)
        return VAT_EVENT_NONE;
    if (vat->vd != NULL)
        return VAT_EVENT_DELIVER;
    owner->listener->ready(owner->listener->context, vat->id);
    return VAT_EVENT_NONE;
}
