/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/render.h"

#include <inttypes.h>
#include <math.h>

#include "base/json/json_text.h"

/*
 * The columns: what the pipe carries up stands on the left, the worker's time
 * next to it, then the kernel's, and what goes down on the right.
 */
enum { WORKER_COLUMN = 25, KERNEL_COLUMN = 42, DOWN_COLUMN = 58, RETURN_COLUMN = 79 };

static void pad_to(struct buf *out, size_t line_start, size_t column)
{
    do
        buf_append_byte(out, ' ');
    while (!buf_failed(out) && out->length - line_start < column);
}

/* To the nearest microsecond. */
static int64_t microseconds(int64_t nanoseconds)
{
    int64_t half = nanoseconds < 0 ? -500 : 500;

    return nanoseconds / 1000 + (nanoseconds % 1000 + half) / 1000;
}

static void append_seconds(struct buf *out, int64_t nanoseconds)
{
    json_text_seconds(out, microseconds(nanoseconds));
}

/* "a -> SECONDS -> b" */
static void append_hop(struct buf *out, const char *from, const struct model_span *span,
                       const char *to)
{
    buf_append_string(out, from);
    buf_append_string(out, " -> ");
    append_seconds(out, span->to - span->from);
    buf_append_string(out, " -> ");
    buf_append_string(out, to);
}

static void end_line(struct buf *out, bool spoiled)
{
    buf_append_string(out, spoiled ? "  (clock was set)\n" : "\n");
}

static void append_send(struct buf *out, const struct model_span *span)
{
    pad_to(out, out->length, DOWN_COLUMN);
    append_hop(out, "k", span, "w");
    buf_append_string(out, "   (send delivery)");
    end_line(out, span->spoiled);
}

static void append_return(struct buf *out, const struct model_span *span)
{
    size_t start = out->length;

    buf_append_string(out, "   ");
    append_hop(out, "w", span, "k");
    pad_to(out, start, RETURN_COLUMN);
    buf_append_string(out, "(return result)");
    end_line(out, span->spoiled);
}

static void append_column(struct buf *out, size_t column, const struct model_span *span,
                          const char *what)
{
    pad_to(out, out->length, column);
    append_seconds(out, span->to - span->from);
    buf_append_byte(out, ' ');
    buf_append_string(out, what);
    end_line(out, span->spoiled);
}

/* The three spans of a request on one line; `spans` begins at its UP. */
static void append_request(struct buf *out, const struct model_delivery *delivery,
                           const struct model_span *spans)
{
    const struct model_span *up = &spans[0], *kernel = &spans[1], *down = &spans[2];
    size_t start = out->length;

    buf_append_string(out, "   ");
    append_hop(out, "w", up, "k");
    buf_append_byte(out, ',');
    pad_to(out, start, KERNEL_COLUMN);
    append_seconds(out, kernel->to - kernel->from);
    buf_append_string(out, " kern,");
    pad_to(out, start, DOWN_COLUMN);
    append_hop(out, "k", down, "w");
    buf_append_string(out, " : ");
    buf_append_string(out, delivery->events[up->event].label);
    end_line(out, up->spoiled || kernel->spoiled || down->spoiled);
}

/* A request whose syscall-result is missing: what came after it nobody noted. */
static void append_unanswered(struct buf *out, const struct model_delivery *delivery,
                              const struct model_span *spans)
{
    const struct model_span *up = &spans[0], *unknown = &spans[1];
    size_t start = out->length;

    buf_append_string(out, "   ");
    append_hop(out, "w", up, "k");
    buf_append_byte(out, ',');
    pad_to(out, start, KERNEL_COLUMN);
    append_seconds(out, unknown->to - unknown->from);
    buf_append_string(out, " unattributed : ");
    buf_append_string(out, delivery->events[up->event].label);
    end_line(out, up->spoiled || unknown->spoiled);
}

/*
 * The requests that no stamp covers: of those the kernel's own time is known.
 * They stand for themselves and are in no sum.
 */
static void append_uncovered(struct buf *out, const struct model_delivery *delivery, size_t first)
{
    for (size_t i = first; i < delivery->event_count; i++) {
        const struct model_event *event = &delivery->events[i];
        size_t start = out->length;

        buf_append_string(out, "   w ->     ?    -> k,");
        pad_to(out, start, KERNEL_COLUMN);
        if (event->answered == MODEL_NONE)
            buf_append_string(out, "    ?   ");
        else
            append_seconds(out, event->answered - event->arrived);
        buf_append_string(out, " kern,");
        pad_to(out, start, DOWN_COLUMN);
        buf_append_string(out, "k ->     ?    -> w : ");
        buf_append_string(out, event->label);
        buf_append_byte(out, '\n');
    }
}

/* Appends what begins at spans[i]; how many spans that took. */
static size_t append_spans(struct buf *out, const struct model_delivery *delivery, size_t i)
{
    const struct model_span *span = &delivery->spans[i];

    switch (span->kind) {
    case MODEL_SEND:
        append_send(out, span);
        return 1;
    case MODEL_UP:
        if (span[1].kind == MODEL_KERNEL) {
            append_request(out, delivery, span);
            return 3;
        }
        append_unanswered(out, delivery, span);
        return 2;
    case MODEL_RETURN:
        append_return(out, span);
        return 1;
    case MODEL_WORKER:
        append_column(out, WORKER_COLUMN, span, "worker");
        return 1;
    case MODEL_WAIT:
        append_column(out, KERNEL_COLUMN, span, "wait (pipe and kernel)");
        return 1;
    default:
        append_column(out, KERNEL_COLUMN, span, "unattributed");
        return 1;
    }
}

/*
 * A part of the total, rounded so that the parts add up to the rounded total:
 * *sum is what came before.
 */
static void append_part(struct buf *out, const char *name, int64_t part, int64_t *sum)
{
    int64_t before = microseconds(*sum);

    buf_append_string(out, name);
    if (part == MODEL_NONE) {
        buf_append_string(out, " ?");
        return;
    }
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)part);
    buf_append_byte(out, ' ');
    json_text_seconds(out, microseconds(*sum) - before);
}

static void append_total(struct buf *out, const struct model_delivery *delivery)
{
    int64_t sum = 0;

    append_part(out, "   pipe", delivery->pipe, &sum);
    append_part(out, ", worker", delivery->worker, &sum);
    append_part(out, ", kernel", delivery->kernel, &sum);
    if (delivery->unattributed != 0)
        append_part(out, ", unattributed", delivery->unattributed, &sum);
    buf_append_string(out, "    total  (k->k ");
    append_seconds(out, delivery->total);
    buf_append_byte(out, ')');
    if (!isnan(delivery->gas))
        buf_printf(out, "  gas %.0f", delivery->gas);
    end_line(out, delivery->clock_changed);
}

/* Why a delivery is not split in full. */
static void append_remarks(struct buf *out, const struct model_delivery *delivery)
{
    size_t expected = 2 + 2 * delivery->event_count;

    if (delivery->status == MODEL_ERROR)
        buf_printf(out, "   error: %s\n", delivery->problem);
    if (delivery->total == MODEL_NONE)
        buf_append_string(out, "   no deliver line in this file: no times\n");
    else if (delivery->coverage == MODEL_CUT)
        buf_printf(out, "   stamps overran: %zu of %zu are there\n", delivery->stamp_count,
                   expected);
    else if (delivery->coverage == MODEL_LOOSE)
        buf_printf(out,
                   "   %zu stamps where the lines tell of %zu: only the worker's time is sure%s\n",
                   delivery->stamp_count, expected,
                   delivery->overrun == 0 ? "" : ", and they may have overrun");
    else if (delivery->coverage == MODEL_BARE)
        buf_append_string(out, "   no stamps: no worker process, or it died\n");
}

static void append_header(struct buf *out, const struct model_delivery *delivery)
{
    if (delivery->crank_num != MODEL_NONE)
        buf_printf(out, "c%" PRId64, delivery->crank_num);
    else
        buf_append_string(out, delivery->replay ? "replay" : "c?");
    buf_printf(out, " %s ", delivery->vat_id);
    buf_append_string(out, delivery->description);
    buf_append_byte(out, '\n');
}

/* All spans in order, and before the last of a cut story the requests that it lacks. */
static void append_story(struct buf *out, const struct model_delivery *delivery)
{
    size_t covered = 0;

    for (size_t i = 0; i < delivery->span_count;) {
        const struct model_span *span = &delivery->spans[i];

        if (span->event != UINT32_MAX)
            covered = span->event + 1;
        if (delivery->coverage == MODEL_CUT && i + 1 == delivery->span_count)
            append_uncovered(out, delivery, covered);
        i += append_spans(out, delivery, i);
    }
    if (delivery->coverage == MODEL_BARE)
        append_uncovered(out, delivery, 0);
}

static void text_delivery(struct buf *out, const struct model_delivery *delivery)
{
    if (delivery->between != MODEL_NONE) {
        pad_to(out, out->length, KERNEL_COLUMN);
        append_seconds(out, delivery->between);
        buf_append_string(out, " kern between-cranks\n");
    }
    append_header(out, delivery);
    if (delivery->queued != MODEL_NONE) {
        buf_append_string(out, "   waited ");
        append_seconds(out, delivery->queued);
        buf_append_string(out, " since it was sent\n");
    }
    append_story(out, delivery);
    if (delivery->total != MODEL_NONE)
        append_total(out, delivery);
    append_remarks(out, delivery);
}

/* What took the kernel's time between deliveries; that of blocks is told when they end. */
static void text_phase(struct buf *out, const struct phase_span *span)
{
    static const bool told[PHASES] = {
        [PHASE_KERNEL_START] = true,  [PHASE_BOOTSTRAP] = true,   [PHASE_UPGRADE] = true,
        [PHASE_VAT_START] = true,     [PHASE_REPLAY] = true,      [PHASE_SNAPSHOT_SAVE] = true,
        [PHASE_SNAPSHOT_LOAD] = true, [PHASE_VAT_CLEANUP] = true,
    };

    if (!told[span->phase])
        return;
    pad_to(out, out->length, KERNEL_COLUMN);
    append_seconds(out, span->total);
    buf_printf(out, " %s%s%s", phase_name(span->phase),
               span->vat_id[0] != '\0' || span->name[0] != '\0' ? " " : "",
               span->vat_id[0] != '\0' ? span->vat_id : span->name);
    if (span->bytes >= 0)
        buf_printf(out, ", %.0f bytes", span->bytes);
    buf_append_byte(out, '\n');
}

static void text_inbound(struct buf *out, const struct model_inbound *inbound)
{
    buf_printf(out, "-- %s%s%s", inbound->type, inbound->number[0] != '\0' ? " " : "",
               inbound->number);
    buf_printf(out, "%s%s\n", inbound->source[0] != '\0' ? " from " : "", inbound->source);
}

static void text_block(struct buf *out, const struct phase_block *block)
{
    buf_append_string(out, "-- block ");
    if (block->height == RECORD_NONE)
        buf_append_byte(out, '?');
    else
        json_text_integer(out, block->height);
    buf_append_string(out, ": ");
    append_seconds(out, block->total);
    buf_append_string(out, " s:");
    for (int i = 0, told = 0; i < PHASES; i++) {
        if (block->own[i] == 0)
            continue;
        buf_printf(out, "%s %s ", told++ > 0 ? "," : "", phase_name((enum phase)i));
        append_seconds(out, block->own[i]);
    }
    buf_append_byte(out, '\n');
}

static void text_note(struct buf *out, const struct model_note *note)
{
    buf_append_string(out, "-- ");
    if (note->file != NULL) {
        buf_append_string(out, note->file);
        buf_append_byte(out, ' ');
    }
    buf_printf(out, "line %" PRIu64 ": ", note->line);
    switch (note->kind) {
    case MODEL_NOTE_KERNEL:
        buf_append_string(out, "a new kernel process\n");
        break;
    case MODEL_NOTE_CLOCK:
        buf_append_string(out, note->amount < 0 ? "the clock was set back by "
                                                : "the clock was set forward by ");
        append_seconds(out, note->amount < 0 ? -note->amount : note->amount);
        buf_append_string(out, " s\n");
        break;
    case MODEL_NOTE_UNENDED:
        buf_printf(out, "the delivery to %s that begins here has no deliver-result\n",
                   note->vat_id);
        break;
    case MODEL_NOTE_UNSTARTED:
        buf_printf(out, "the delivery to %s that ends here has no deliver line\n", note->vat_id);
        break;
    case MODEL_NOTE_TOO_BIG:
        buf_printf(out, "a record was too big for the flight recorder; it begins with %s\n",
                   note->text);
        break;
    }
}

const struct render_ops render_text = {.delivery = text_delivery,
                                       .note = text_note,
                                       .inbound = text_inbound,
                                       .phase = text_phase,
                                       .block = text_block,
                                       .labels = true};
