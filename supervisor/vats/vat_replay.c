/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/vat_replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "slog/model/describe.h"

/* Bytes of each side of a difference that are shown. */
enum { SHOWN_MAX = 160 };

int64_t vat_replay_num(const struct vat_replay *replay)
{
    return replay->first_num + replay->position;
}

int64_t vat_replay_syscall_num(const struct vat_replay *replay)
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

int vat_replay_read(struct vat_replay *replay, const struct vat_transcript *transcript,
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

enum vat_replay_request vat_replay_compare_request(struct vat_replay *replay, struct iovec payload,
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

bool vat_replay_compare_ending(struct vat_replay *replay, const struct vat_frame *ending,
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
