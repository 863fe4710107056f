/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/command.h"
#include "slog/model/describe.h"
#include "supervisor/vats/vat_actions.h"

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

int vat_replay_find_end(struct vat_replay *replay, const struct vat_transcript *transcript,
                        struct error *error)
{
    int64_t first;

    return store_transcript_bounds(transcript->store, transcript->vat, transcript->incarnation,
                                   &first, &replay->end, error);
}

/* Its count of instructions is compared when it was taken under `fingerprint`. */
static int vat_replay_read(struct vat_replay *replay, const struct vat_transcript *transcript,
                           const char *fingerprint, struct error *error)
{
    replay->rules = (struct compare_rules){.fingerprint = fingerprint};
    replay->compare.recorded = &replay->recorded;
    replay->compare.rules = &replay->rules;
    replay->compare.made = 0;
    return recorded_delivery_fetch(&replay->recorded, transcript->store, transcript->vat,
                                   transcript->incarnation, replay->position, error);
}

static int shown(const struct buf *side)
{
    return side->length < SHOWN_MAX ? (int)side->length : SHOWN_MAX;
}

static void give_difference(const struct vat_replay *replay, struct vat_reason *reason)
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
                   shown(recorded), recorded->length > 0 ? recorded->data : "", shown(replayed),
                   replayed->length > 0 ? replayed->data : "");
}

/* The scanner reads whole blocks, beyond the text's end. */
static bool keep_request(struct vat_replay *replay, struct iovec payload)
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
    VAT_REPLAY_FAILED,  /* memory ran out */
};

/* texts[0] and texts[1] are the syscall and its answer as recorded, which stay until the next
 * vat_replay_read(). */
static enum vat_replay_request vat_replay_compare_request(struct vat_replay *replay,
                                                          struct iovec payload,
                                                          struct scan_span texts[2],
                                                          struct vat_reason *reason)
{
    struct scan_span message;

    if (!keep_request(replay, payload))
        return VAT_REPLAY_FAILED;
    message = (struct scan_span){replay->request.data, replay->request.length};
    if (scan_is(describe_kind(message), "sourcedConsole"))
        return VAT_REPLAY_CONSOLE;
    if (delivery_compare_syscall(&replay->compare, message, &texts[1]) != COMPARE_SAME) {
        give_difference(replay, reason);
        return VAT_REPLAY_DIFFERS;
    }
    texts[0] = replay->recorded.syscalls[replay->compare.made - 1].made;
    return VAT_REPLAY_SYSCALL;
}

/* What an ending comes to; the meter is borrowed. */
static int make_outcome(struct delivery_outcome *outcome, const struct vat_frame *ending,
                        struct error *error)
{
    outcome->meter = ending->meter;
    outcome->metered = true;
    if (ending->problem != NULL)
        return delivery_outcome_fail(outcome, ending->problem, strlen(ending->problem), error);
    return buf_append_string(&outcome->status, "ok") == 0 ? 0 : error_memory(error, "a result");
}

static bool vat_replay_compare_ending(struct vat_replay *replay, const struct vat_frame *ending,
                                      struct vat_reason *reason)
{
    struct delivery_outcome outcome = {0};
    struct error error;
    bool same = false;

    if (make_outcome(&outcome, ending, &error) != 0)
        vat_reason_set(reason, ERROR_SYSTEM, "%s", error.text);
    else if (delivery_compare_outcome(&replay->compare, &outcome) == COMPARE_SAME)
        same = true;
    else
        give_difference(replay, reason);
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
    const struct vat_transcript transcript = {options->store, vat->identity.id,
                                              vat->identity.incarnation};
    struct vat_log_delivery delivery;
    struct error error;

    if (vat_replay_read(&vat->replay, &transcript, options->fingerprint, &error) != 0)
        return vat_lose_past(vat, &error);
    delivery = replayed_delivery(vat);
    vat_timer_start(&vat->timer, options->timeout_ms);
    vat->replay.sent = delivery.sent =
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
    (void)input;
    vat_is_wanted_no_more(vat);
    vat->unproven = false;
    vat->log.quiet = false;
    if (vat->owner->silent)
        return VAT_EVENT_NONE;
    if (vat->delivery.text != NULL)
        return VAT_EVENT_DELIVER;
    vat_report(vat, &(struct warehouse_event){.kind = WAREHOUSE_EVENT_READY});
    return VAT_EVENT_NONE;
}
