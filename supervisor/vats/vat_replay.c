/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/command.h"
#include "slog/model/describe.h"
#include "supervisor/vats/vat.h"

/* Parts of a difference that are shown. */
enum { SHOWN_MAX = 160 };

static int64_t delivery_num(const struct vat *vat)
{
    return vat->replay.first_num + vat->replay.position;
}

static int shown(const struct buf *side)
{
    return side->length < SHOWN_MAX ? (int)side->length : SHOWN_MAX;
}

/* What came differs from what the transcript has: the worker is of no use. */
static void differ(struct vat *vat)
{
    const struct difference *difference = &vat->replay.compare.difference;
    const struct buf *recorded = &difference->recorded, *replayed = &difference->replayed;
    char number[24] = "";

    if (difference->aspect == COMPARE_SYSCALL)
        snprintf(number, sizeof number, " %" PRId64, difference->syscall_num);
    vat_kill_for(vat, ERROR_INPUT,
                 "delivery %" PRId64 ", %s%s differs from its transcript: recorded %.*s, now %.*s",
                 delivery_num(vat), compare_aspect_names[difference->aspect], number,
                 shown(recorded), recorded->length > 0 ? recorded->data : "", shown(replayed),
                 replayed->length > 0 ? replayed->data : "");
}

static int begin(struct vat *vat, struct error *error)
{
    if (vat_log_startup(vat, true, error) != 0)
        return -1;
    return vat_log_replay_start(vat, error);
}

static int send_next(struct vat *vat, struct error *error)
{
    struct vat_replay *replay = &vat->replay;
    const struct warehouse_options *options = &vat->warehouse->options;
    struct scan_span vd;

    if (recorded_delivery_fetch(&replay->recorded, options->store, vat->id, vat->incarnation,
                                replay->position, error) != 0)
        return -1;
    replay->rules = (struct compare_rules){.fingerprint = options->fingerprint};
    replay->compare.recorded = &replay->recorded;
    replay->compare.rules = &replay->rules;
    replay->compare.made = 0;
    vd = replay->recorded.delivery;
    vat_start_timer(vat, options->timeout_ms);
    replay->sent = vat_send_delivery(vat, (struct iovec){(char *)vd.at, vd.length});
    return vat_log_replay_deliver(vat, error);
}

static void go_on(struct vat *vat)
{
    struct vat_replay *replay = &vat->replay;
    struct error error;
    bool done = replay->position >= replay->end;

    if ((done ? vat_log_replay_finish(vat, &error) : send_next(vat, &error)) != 0)
        warehouse_fail(vat->warehouse, &error);
    else if (done)
        vat_event(vat, VAT_EVENT_CAUGHT_UP);
}

void vat_replay(struct vat *vat, const struct vat_happening *happening)
{
    struct error error;

    (void)happening;
    vat_stop_timer(vat);
    buf_free(&vat->bundle);
    if (begin(vat, &error) != 0)
        warehouse_fail(vat->warehouse, &error);
    else
        go_on(vat);
}

/* ---- what it asks ---- */

static void answer_syscall(struct vat *vat, struct scan_span message, struct stamp come)
{
    struct delivery_compare *compare = &vat->replay.compare;
    const struct recorded_syscall *recorded;
    struct scan_span answer;
    struct stamp answered;
    struct error error;

    if (delivery_compare_syscall(compare, message, &answer) != COMPARE_SAME) {
        differ(vat);
        return;
    }
    recorded = &vat->replay.recorded.syscalls[compare->made - 1];
    answered =
        vat_send_frame(vat, COMMAND_ANSWER, (struct iovec){(char *)answer.at, answer.length});
    if (vat_log_replay_syscall(vat, recorded->made, answer, come, answered, &error) != 0)
        warehouse_fail(vat->warehouse, &error);
}

/* The scanner reads whole blocks, beyond the text's end. */
static int keep_request(struct vat *vat, struct iovec payload, struct error *error)
{
    struct buf *request = &vat->replay.request;

    buf_clear(request);
    buf_append(request, payload.iov_base, payload.iov_len);
    if (buf_reserve(request, SCAN_PADDING) != 0)
        return error_memory(error, "a syscall");
    memset(request->data + request->length, 0, SCAN_PADDING);
    return 0;
}

void vat_answer_recorded(struct vat *vat, const struct vat_happening *happening)
{
    const char *to_console = vat->runtime.console_answer;
    struct scan_span message;
    struct error error;

    if (keep_request(vat, happening->payload, &error) != 0) {
        warehouse_fail(vat->warehouse, &error);
        return;
    }
    message = (struct scan_span){vat->replay.request.data, vat->replay.request.length};
    if (scan_is(describe_kind(message), "sourcedConsole"))
        vat_send_frame(vat, COMMAND_ANSWER, (struct iovec){(char *)to_console, strlen(to_console)});
    else
        answer_syscall(vat, message, happening->come);
}

/* ---- how its delivery ended ---- */

/* What an ending comes to; the meter is borrowed. */
static int make_outcome(struct delivery_outcome *outcome, const struct vat_ending *ending,
                        struct error *error)
{
    outcome->meter = ending->meter;
    outcome->metered = true;
    if (ending->problem != NULL)
        return delivery_outcome_fail(outcome, ending->problem, strlen(ending->problem), error);
    return buf_append_string(&outcome->status, "ok") == 0 ? 0 : error_memory(error, "a result");
}

static enum compare_result compare_ending(struct vat *vat, const struct vat_ending *ending)
{
    enum compare_result result = COMPARE_DIFFERS;
    struct delivery_outcome outcome = {0};
    struct error error;

    if (make_outcome(&outcome, ending, &error) != 0)
        warehouse_fail(vat->warehouse, &error);
    else if ((result = delivery_compare_outcome(&vat->replay.compare, &outcome)) != COMPARE_SAME)
        differ(vat);
    buf_free(&outcome.status);
    buf_free(&outcome.problem);
    return result;
}

void vat_compare(struct vat *vat, const struct vat_happening *happening)
{
    struct vat_ending ending = {0};
    struct error error;

    vat_stop_timer(vat);
    if (vat_ending_read(&ending, happening->payload, &error) != 0) {
        vat_kill_for(vat, ERROR_SYSTEM, "%s", error.text);
    } else if (compare_ending(vat, &ending) == COMPARE_SAME) {
        if (vat_log_replay_result(vat, &ending, happening->come, &error) != 0)
            warehouse_fail(vat->warehouse, &error);
        vat->last_words[0] = '\0'; /* they were shown when it was new */
        vat->replay.position++;
        go_on(vat);
    }
    vat_ending_free(&ending);
}

void vat_ready(struct vat *vat, const struct vat_happening *happening)
{
    struct warehouse *warehouse = vat->warehouse;

    (void)happening;
    vat->wanted = false;
    vat->quiet = false;
    if (warehouse->failed || warehouse->closing)
        return;
    if (vat->vd != NULL)
        vat_event(vat, VAT_EVENT_DELIVER);
    else
        warehouse->listener.ready(warehouse->listener.context, vat->id);
}
