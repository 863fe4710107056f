/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/json/json_same.h"
#include "proto/command.h"
#include "supervisor/vats/vat.h"

/* Parts of a difference that are shown. */
enum { SHOWN_MAX = 160 };

static int64_t delivery_num(const struct vat *vat)
{
    return vat->replay.first_num + vat->replay.position;
}

/* What came differs from what the transcript has: the worker is of no use. */
static void differ(struct vat *vat, const char *what, struct scan_span recorded,
                   struct scan_span made)
{
    const struct vat_replay *replay = &vat->replay;
    const int recorded_length = recorded.length < SHOWN_MAX ? (int)recorded.length : SHOWN_MAX;
    const int made_length = made.length < SHOWN_MAX ? (int)made.length : SHOWN_MAX;

    vat_kill_for(
        vat, ERROR_INPUT,
        "delivery %" PRId64 ", %s %" PRId64 " differs from its transcript: recorded %.*s, now %.*s",
        delivery_num(vat), what, replay->syscall_num, recorded_length,
        recorded.at != NULL ? recorded.at : "", made_length, made.at != NULL ? made.at : "");
}

static void differ_in_number(struct vat *vat, const char *what, int64_t recorded, int64_t made)
{
    vat_kill_for(vat, ERROR_INPUT,
                 "delivery %" PRId64 " differs from its transcript in %s: recorded %" PRId64
                 ", now %" PRId64,
                 delivery_num(vat), what, recorded, made);
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

    if (transcript_item_read(&replay->item, options->store, vat->id, vat->incarnation,
                             replay->position, error) != 0)
        return -1;
    replay->syscall_num = 0;
    vd = replay->item.delivery;
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

static bool element_of(struct scan_span array, int number, struct scan_span *element)
{
    struct scan_cursor cursor;

    if (!scan_open(array, '[', &cursor))
        return false;
    for (int i = 0; i <= number; i++)
        if (scan_element(&cursor, element) != SCAN_FOUND)
            return false;
    return true;
}

static void answer_syscall(struct vat *vat, struct scan_span made, struct stamp come)
{
    struct scan_span recorded, answer;
    struct stamp answered;
    struct error error;

    if (!transcript_item_next(&vat->replay.item, &recorded, &answer)) {
        differ(vat, "syscall", (struct scan_span){"nothing", strlen("nothing")}, made);
        return;
    }
    if (!json_same(recorded, made)) {
        differ(vat, "syscall", recorded, made);
        return;
    }
    answered =
        vat_send_frame(vat, COMMAND_ANSWER, (struct iovec){(char *)answer.at, answer.length});
    if (vat_log_replay_syscall(vat, recorded, answer, come, answered, &error) != 0)
        warehouse_fail(vat->warehouse, &error);
    vat->replay.syscall_num++;
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
    struct scan_span message, word, syscall;
    struct error error;

    if (keep_request(vat, happening->payload, &error) != 0) {
        warehouse_fail(vat->warehouse, &error);
        return;
    }
    message = (struct scan_span){vat->replay.request.data, vat->replay.request.length};
    if (element_of(message, 0, &word) && scan_is(word, "\"sourcedConsole\""))
        vat_send_frame(vat, COMMAND_ANSWER, (struct iovec){(char *)to_console, strlen(to_console)});
    else if (element_of(message, 1, &syscall))
        answer_syscall(vat, syscall, happening->come);
    else
        differ(vat, "syscall", (struct scan_span){0}, message);
}

/* ---- how its delivery ended ---- */

static bool same_counts(struct vat *vat, const struct meter *meter)
{
    const struct transcript_item *item = &vat->replay.item;
    const char *fingerprint = vat->warehouse->options.fingerprint;

    if (item->compute >= 0 && item->compute != (int64_t)meter->compute) {
        differ_in_number(vat, "computrons", item->compute, (int64_t)meter->compute);
        return false;
    }
    if (item->instructions >= 0 && meter->counted && fingerprint != NULL &&
        scan_is(item->fingerprint, fingerprint) &&
        item->instructions != (int64_t)meter->instructions) {
        differ_in_number(vat, "instructions", item->instructions, (int64_t)meter->instructions);
        return false;
    }
    return true;
}

static bool same_ending(struct vat *vat, const char *problem, const struct meter *meter)
{
    struct transcript_item *item = &vat->replay.item;
    struct scan_span syscall, answer;

    if (transcript_item_next(item, &syscall, &answer)) {
        differ(vat, "syscall", syscall, (struct scan_span){"nothing", strlen("nothing")});
        return false;
    }
    if (!scan_is(item->status, problem != NULL ? "error" : "ok")) {
        differ(vat, "result after syscall", item->status,
               (struct scan_span){problem, problem != NULL ? strlen(problem) : 0});
        return false;
    }
    return same_counts(vat, meter);
}

void vat_compare(struct vat *vat, const struct vat_happening *happening)
{
    struct vat_ending ending = {0};
    struct error error;

    vat_stop_timer(vat);
    if (vat_ending_read(&ending, happening->payload, &error) != 0) {
        vat_kill_for(vat, ERROR_SYSTEM, "%s", error.text);
    } else if (same_ending(vat, ending.problem, &ending.meter)) {
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
