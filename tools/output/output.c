/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json/json_text.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/visible.h"

static void scaled(char text[UNITS_SIZE], double number, const char *unit)
{
    int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;

    snprintf(text, UNITS_SIZE, "%.*f %s", decimals, number, unit);
}

void units_time(char text[UNITS_SIZE], uint64_t nanoseconds)
{
    double number = (double)nanoseconds;

    if (number < 1e3)
        snprintf(text, UNITS_SIZE, "%d ns", (int)nanoseconds);
    else if (number < 999.5e3)
        scaled(text, number / 1e3, "µs");
    else if (number < 999.5e6)
        scaled(text, number / 1e6, "ms");
    else
        scaled(text, number / 1e9, "s");
}

void units_count(char text[UNITS_SIZE], uint64_t count)
{
    double number = (double)count;

    if (number < 1e3)
        snprintf(text, UNITS_SIZE, "%d", (int)count);
    else if (number < 999.5e3)
        scaled(text, number / 1e3, "k");
    else if (number < 999.5e6)
        scaled(text, number / 1e6, "M");
    else
        scaled(text, number / 1e9, "G");
}

/* Columns of UTF-8 text whose characters are one column wide. */
static size_t text_columns(const char *text)
{
    size_t columns = 0;

    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

void units_pad(struct buf *out, const char *text, size_t width)
{
    for (size_t columns = text_columns(text); columns < width; columns++)
        buf_append_byte(out, ' ');
    buf_append_string(out, text);
}

void units_pad_time(struct buf *out, int64_t nanoseconds, size_t width)
{
    char text[UNITS_SIZE];

    units_time(text, nanoseconds < 0 ? 0 : (uint64_t)nanoseconds);
    units_pad(out, text, width);
}

void units_pad_change(struct buf *out, int64_t nanoseconds, size_t width)
{
    const uint64_t size = nanoseconds < 0 ? -(uint64_t)nanoseconds : (uint64_t)nanoseconds;
    char text[UNITS_SIZE + 1] = {nanoseconds < 0 ? '-' : '+'};

    units_time(text + 1, size);
    units_pad(out, text, width);
}

void units_csv_text(struct buf *out, const char *text)
{
    bool formula = text[0] != '\0' && strchr("=+-@", text[0]) != NULL;

    if (!formula && strpbrk(text, "\",\r\n") == NULL) {
        buf_append_string(out, text);
        return;
    }
    buf_append_string(out, formula ? "\"'" : "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"')
            buf_append_byte(out, '"');
        buf_append_byte(out, *text);
    }
    buf_append_byte(out, '"');
}

void units_append_moment(struct buf *out, int64_t nanoseconds)
{
    time_t seconds = (time_t)(nanoseconds / 1000000000);
    struct tm utc;
    char date[32];

    if (nanoseconds < 0 || gmtime_r(&seconds, &utc) == NULL ||
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc) == 0) {
        json_text_seconds(out, nanoseconds / 1000);
        return;
    }
    buf_printf(out, "%s.%06dZ", date, (int)(nanoseconds / 1000 % 1000000));
}

static void append_run(struct buf *words, const struct model_totals *totals, uint64_t number)
{
    buf_printf(words, "%s run %" PRIu64 " begins at ", number > 0 ? "," : "", number + 2);
    if (totals->runs[number].file != NULL)
        buf_printf(words, "%s:%" PRIu64, totals->runs[number].file, totals->runs[number].line);
    else
        buf_printf(words, "line %" PRIu64, totals->runs[number].line);
    buf_append_string(words, " (");
    units_append_moment(words, totals->runs[number].time);
    buf_append_byte(words, ')');
}

void explain_runs(const struct model_totals *totals, const char *input, const char *what)
{
    const uint64_t more = totals->notes[MODEL_NOTE_KERNEL];
    struct buf words = {0};

    if (more == 0)
        return;
    if (input != NULL)
        buf_printf(&words, "%s: ", input);
    buf_printf(&words, "%" PRIu64 " runs of the kernel %s; --run 1 takes the first alone;",
               more + 1, what);
    for (uint64_t i = 0; i < more && i < MODEL_RUNS_NAMED; i++)
        append_run(&words, totals, i);
    if (more > MODEL_RUNS_NAMED)
        buf_append_string(&words, ", and so on");
    if (buf_string(&words) != NULL)
        log_line("%s", words.data);
    buf_free(&words);
}

enum { FLUSH_AT = 64 * 1024 };

int output_flush(struct buf *out, struct error *error)
{
    if (buf_failed(out))
        return error_memory(error, "the report");
    if (visible_write(STDOUT_FILENO, out->data, out->length) != 0)
        return error_system(error, errno, "cannot write the report");
    buf_clear(out);
    return 0;
}

int output_flush_if_much(struct buf *out, struct error *error)
{
    return out->length < FLUSH_AT && !buf_failed(out) ? 0 : output_flush(out, error);
}

/*
 * The columns: what the pipe carries up on the left, then the worker's and the kernel's time, then
 * what goes down on the right.
 */
enum { WORKER_COLUMN = 25, KERNEL_COLUMN = 42, DOWN_COLUMN = 58, RETURN_COLUMN = 79 };

static void pad_to(struct buf *out, size_t line_start, size_t column)
{
    do
        buf_append_byte(out, ' ');
    while (!buf_failed(out) && out->length - line_start < column);
}

/* To the nearest microsecond. */
static int64_t to_microseconds(int64_t nanoseconds)
{
    int64_t half = nanoseconds < 0 ? -500 : 500;

    return nanoseconds / 1000 + (nanoseconds % 1000 + half) / 1000;
}

static void append_seconds(struct buf *out, int64_t nanoseconds)
{
    json_text_seconds(out, to_microseconds(nanoseconds));
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

static void end_span_line(struct buf *out, bool spoiled)
{
    buf_append_string(out, spoiled ? "  (clock was set)\n" : "\n");
}

static void append_send(struct buf *out, const struct model_span *span)
{
    pad_to(out, out->length, DOWN_COLUMN);
    append_hop(out, "k", span, "w");
    buf_append_string(out, "   (send delivery)");
    end_span_line(out, span->spoiled);
}

static void append_return(struct buf *out, const struct model_span *span)
{
    size_t start = out->length;

    buf_append_string(out, "   ");
    append_hop(out, "w", span, "k");
    pad_to(out, start, RETURN_COLUMN);
    buf_append_string(out, "(return result)");
    end_span_line(out, span->spoiled);
}

static void append_span_column(struct buf *out, size_t column, const struct model_span *span,
                               const char *what)
{
    pad_to(out, out->length, column);
    append_seconds(out, span->to - span->from);
    buf_append_byte(out, ' ');
    buf_append_string(out, what);
    end_span_line(out, span->spoiled);
}

/* The three spans of a request on one line; `spans` begins at its UP. */
static void append_request_line(struct buf *out, const struct model_delivery *delivery,
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
    end_span_line(out, up->spoiled || kernel->spoiled || down->spoiled);
}

/* A request without a syscall-result: the time after it is not attributed. */
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
    end_span_line(out, up->spoiled || unknown->spoiled);
}

/* Requests without stamps: only the kernel's own time is known. They are in no sum. */
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

/* Appends what begins at spans[i]. Returns how many spans that was. */
static size_t append_spans(struct buf *out, const struct model_delivery *delivery, size_t i)
{
    const struct model_span *span = &delivery->spans[i];

    switch (span->kind) {
    case MODEL_SEND:
        append_send(out, span);
        return 1;
    case MODEL_UP:
        if (span[1].kind == MODEL_KERNEL) {
            append_request_line(out, delivery, span);
            return 3;
        }
        append_unanswered(out, delivery, span);
        return 2;
    case MODEL_RETURN:
        append_return(out, span);
        return 1;
    case MODEL_WORKER:
        append_span_column(out, WORKER_COLUMN, span, "worker");
        return 1;
    case MODEL_WAIT:
        append_span_column(out, KERNEL_COLUMN, span, "wait (pipe and kernel)");
        return 1;
    default:
        append_span_column(out, KERNEL_COLUMN, span, "unattributed");
        return 1;
    }
}

/*
 * Appends a part of the total, rounded so that the parts add up to the rounded total. *sum is that
 * of the parts before.
 */
static void append_part(struct buf *out, const char *name, int64_t part, int64_t *sum)
{
    int64_t before = to_microseconds(*sum);

    buf_append_string(out, name);
    if (part == MODEL_NONE) {
        buf_append_string(out, " ?");
        return;
    }
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)part);
    buf_append_byte(out, ' ');
    json_text_seconds(out, to_microseconds(*sum) - before);
}

static void append_total_line(struct buf *out, const struct model_delivery *delivery)
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
    end_span_line(out, delivery->clock_changed);
}

static void append_cpu_wait(struct buf *out, const char *who, int64_t waited)
{
    if (waited <= 0)
        return;
    buf_printf(out, "   %s waited ", who);
    append_seconds(out, waited);
    buf_append_string(out, " for a CPU\n");
}

static void append_split(struct buf *out, const char *by, const struct model_delivery *delivery,
                         int64_t pipe)
{
    buf_append_string(out, by);
    buf_append_string(out, " pipe ");
    append_seconds(out, pipe);
    buf_append_string(out, ", kernel ");
    append_seconds(out, delivery->kernel + delivery->pipe - pipe);
}

/* Pipe and kernel by either kind of stamps, where the worker's client noted its own. */
static void append_both_splits(struct buf *out, const struct model_delivery *delivery)
{
    if (delivery->client_pipe == 0)
        return;
    append_split(out, "   by the slog's lines:", delivery, delivery->slog_pipe);
    append_split(out, "; by the client's frames:", delivery, delivery->client_pipe);
    buf_append_byte(out, '\n');
}

/* Explains why a delivery is not split in full. */
static void append_remarks(struct buf *out, const struct model_delivery *delivery)
{
    size_t expected = 2 + 2 * delivery->event_count;

    if (delivery->status == MODEL_ERROR)
        buf_printf(out, "   error: %s\n", delivery->problem);
    append_cpu_wait(out, "gaspipe", delivery->cpu_wait);
    append_cpu_wait(out, "the worker", delivery->worker_cpu_wait);
    if (delivery->total == MODEL_NONE)
        buf_append_string(out, "   no deliver line in this file: no times\n");
    else if (delivery->coverage == MODEL_CUT)
        buf_printf(out, "   stamps overran: %zu of %zu are there\n", delivery->stamp_count,
                   expected);
    else if (delivery->coverage == MODEL_LOOSE)
        buf_printf(out, "   %zu %s instead of %zu: only the worker's time is sure%s\n",
                   delivery->stamp_count, format_plural(delivery->stamp_count, "stamp", "stamps"),
                   expected, delivery->overrun == 0 ? "" : ", and they may have overrun");
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

/* Appends all spans in order and, before the last, the requests without stamps. */
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
        append_total_line(out, delivery);
    append_both_splits(out, delivery);
    append_remarks(out, delivery);
}

/* Shows phases between deliveries; those of blocks are shown when the block ends. */
static void text_phase(struct buf *out, const struct phase_span *span)
{
    static const bool shown[PHASES] = {
        [PHASE_KERNEL_START] = true,  [PHASE_BOOTSTRAP] = true,   [PHASE_UPGRADE] = true,
        [PHASE_VAT_START] = true,     [PHASE_REPLAY] = true,      [PHASE_SNAPSHOT_SAVE] = true,
        [PHASE_SNAPSHOT_LOAD] = true, [PHASE_VAT_CLEANUP] = true,
    };

    if (!shown[span->phase] && span->phase < PHASE_NAMED)
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
    for (int i = 0, shown = 0; i < PHASES; i++) {
        if (block->own[i] == 0)
            continue;
        buf_printf(out, "%s %s ", shown++ > 0 ? "," : "", phase_name((enum phase)i));
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
