/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otlp/otlp_frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "slog/model/fnv1a.h"
#include "tools/otlp/otlp_batch.h"

/* StatusCode of trace.proto. */
enum { STATUS_ERROR = 2 };

/* Makes an id of a digest. */
static uint64_t otlp_id(uint64_t digest)
{
    return digest != 0 ? digest : 1;
}

uint64_t otlp_child_id(uint64_t parent, const char *role, uint64_t number)
{
    uint64_t digest = fnv1a_add(FNV1A_START, (const char *)&parent, sizeof parent);

    digest = fnv1a_add(digest, role, strlen(role));
    return otlp_id(fnv1a_add(digest, (const char *)&number, sizeof number));
}

static void append_span_context(struct buf *out, const struct otlp_context *context)
{
    buf_printf(out, "{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64 "\"",
               context->trace[0], context->trace[1], context->span);
}

static void append_links(struct buf *out, const struct otlp_span *span)
{
    for (size_t i = 0; i < span->link_count; i++) {
        buf_append_string(out, i == 0 ? ",\"links\":[" : ",");
        append_span_context(out, &span->links[i]);
        buf_append_byte(out, '}');
    }
    if (span->link_count > 0)
        buf_append_byte(out, ']');
}

void otlp_span_begin(struct buf *out, const struct otlp_span *span)
{
    append_span_context(out, &span->context);
    if (span->parent != 0)
        buf_printf(out, ",\"parentSpanId\":\"%016" PRIx64 "\"", span->parent);
    buf_append_string(out, ",\"name\":");
    json_text_string(out, span->name, strlen(span->name));
    buf_printf(out,
               ",\"kind\":%d,\"startTimeUnixNano\":\"%" PRId64 "\",\"endTimeUnixNano\":\"%" PRId64
               "\"",
               (int)span->kind, span->from, span->to);
    append_links(out, span);
    if (span->problem != NULL) {
        buf_printf(out, ",\"status\":{\"code\":%d,\"message\":", STATUS_ERROR);
        json_text_string(out, span->problem, strlen(span->problem));
        buf_append_byte(out, '}');
    }
    buf_append_string(out, ",\"attributes\":[");
}

static void begin_attribute(struct buf *out, const char *key, const char *type)
{
    bool first = buf_failed(out) || out->data[out->length - 1] == '[';

    buf_printf(out, "%s{\"key\":\"%s\",\"value\":{\"%s\":", first ? "" : ",", key, type);
}

void otlp_attribute_text(struct buf *out, const char *key, const char *text)
{
    begin_attribute(out, key, "stringValue");
    json_text_string(out, text, strlen(text));
    buf_append(out, "}}", 2);
}

void otlp_attribute_integer(struct buf *out, const char *key, int64_t number)
{
    begin_attribute(out, key, "intValue");
    buf_printf(out, "\"%" PRId64 "\"}}", number);
}

void otlp_attribute_double(struct buf *out, const char *key, double number)
{
    begin_attribute(out, key, "doubleValue");
    buf_printf(out, "%.17g}}", number);
}

void otlp_attribute_bool(struct buf *out, const char *key, bool truth)
{
    begin_attribute(out, key, "boolValue");
    buf_printf(out, "%s}}", truth ? "true" : "false");
}

void otlp_span_end(struct buf *out)
{
    buf_append(out, "]}", 2);
}

static const char *const kind_names[] = {
    [MODEL_FRAME_BLOCK] = "block", [MODEL_FRAME_CRANK] = "crank", [MODEL_FRAME_REPLAY] = "replay"};

static const char *const number_keys[] = {
    [MODEL_FRAME_BLOCK] = "swingset.block_height", [MODEL_FRAME_CRANK] = "swingset.crank_num"};

/* ---- ids ---------------------------------------------------------------- */

static uint64_t digest_number(uint64_t digest, int64_t number)
{
    return fnv1a_add(digest, (const char *)&number, sizeof number);
}

static uint64_t digest_text(uint64_t digest, const char *text)
{
    return fnv1a_add(digest, text, strlen(text));
}

/* `delivery` is for a frame without a first line; else NULL. */
static uint64_t digest_of(const char *role, const struct model_frame *line,
                          const struct model_delivery *delivery)
{
    uint64_t digest = digest_text(FNV1A_START, role);

    digest = digest_text(digest, kind_names[line->kind]);
    digest = digest_number(digest, line->number);
    digest = digest_text(digest, line->vat_id);
    digest = digest_number(digest, line->time);
    digest = digest_number(digest, line->monotime);
    if (delivery != NULL) {
        digest = digest_text(digest, delivery->vat_id);
        digest = digest_number(digest, delivery->delivery_num);
    }
    return otlp_id(digest);
}

/* Within another frame it belongs to that frame's trace; else it is the root of a new one. */
static void frame_identify(const struct otlp_frames *frames, struct otlp_frame *frame,
                           const struct model_frame *line, const struct model_delivery *delivery)
{
    frame->context.span = digest_of("span", line, delivery);
    if (frame->parent >= 0) {
        memcpy(frame->context.trace, frames->at[frame->parent].context.trace,
               sizeof frame->context.trace);
        return;
    }
    frame->context.trace[0] = digest_of("trace, first half", line, delivery);
    frame->context.trace[1] = digest_of("trace, second half", line, delivery);
}

/* ---- ending ------------------------------------------------------------- */

static void frames_give_span(struct otlp_frames *frames, const struct otlp_frame *frame,
                             struct otlp_batch *batch)
{
    struct otlp_span span = {.context = frame->context,
                             .kind = OTLP_INTERNAL,
                             .name = kind_names[frame->kind],
                             .from = frame->from,
                             .to = frame->to};
    struct buf *out = otlp_batch_span(batch);

    if (frame->parent >= 0)
        span.parent = frames->at[frame->parent].context.span;
    otlp_span_begin(out, &span);
    if (frame->kind == MODEL_FRAME_REPLAY)
        otlp_attribute_text(out, "swingset.vat_id", frame->vat_id);
    else if (frame->number != MODEL_NONE)
        otlp_attribute_integer(out, number_keys[frame->kind], frame->number);
    if (frame->clock_changed)
        otlp_attribute_bool(out, "swingset.clock_changed", true);
    otlp_span_end(out);
}

/* Ends a frame and those in it; frames only lie in others of a lower kind. */
static void end_frame(struct otlp_frames *frames, int index, struct otlp_batch *batch)
{
    struct otlp_frame *frame = &frames->at[index];

    for (int inner = 0; inner < OTLP_FRAMES_MOST; inner++) {
        if (frames->at[inner].open && frames->at[inner].parent == index)
            end_frame(frames, inner, batch);
    }
    if (frame->used)
        frames_give_span(frames, frame, batch);
    free(frame->vat_id);
    *frame = (struct otlp_frame){0};
}

void otlp_frames_end_all(struct otlp_frames *frames, struct otlp_batch *batch)
{
    for (int i = 0; i < OTLP_FRAMES_MOST; i++) {
        if (frames->at[i].open)
            end_frame(frames, i, batch);
    }
}

/* ---- finding ------------------------------------------------------------ */

static bool matches_frame(const struct otlp_frame *frame, enum model_frame_kind kind,
                          int64_t number, const char *vat_id)
{
    return frame->open && frame->kind == kind && frame->number == number &&
           (kind != MODEL_FRAME_REPLAY || strcmp(frame->vat_id, vat_id) == 0);
}

static int find_frame(const struct otlp_frames *frames, enum model_frame_kind kind, int64_t number,
                      const char *vat_id)
{
    for (int i = 0; i < OTLP_FRAMES_MOST; i++) {
        if (matches_frame(&frames->at[i], kind, number, vat_id))
            return i;
    }
    return -1;
}

/* Finds the frame of this kind that was begun last. */
static int find_last(const struct otlp_frames *frames, enum model_frame_kind kind)
{
    int last = -1;

    for (int i = 0; i < OTLP_FRAMES_MOST; i++) {
        if (frames->at[i].open && frames->at[i].kind == kind && !frames->at[i].implied &&
            (last < 0 || frames->at[i].from >= frames->at[last].from))
            last = i;
    }
    return last;
}

/* Cranks lie in blocks; replays in cranks, if a vat is restored for one, or in blocks. */
static int find_parent(const struct otlp_frames *frames, enum model_frame_kind kind)
{
    int parent = -1;

    if (kind == MODEL_FRAME_REPLAY)
        parent = find_last(frames, MODEL_FRAME_CRANK);
    if (kind != MODEL_FRAME_BLOCK && parent < 0)
        parent = find_last(frames, MODEL_FRAME_BLOCK);
    return parent;
}

static int find_free(struct otlp_frames *frames, struct otlp_batch *batch)
{
    int oldest = 0;

    for (int i = 0; i < OTLP_FRAMES_MOST; i++) {
        if (!frames->at[i].open)
            return i;
        if (frames->at[i].kind > frames->at[oldest].kind ||
            (frames->at[i].kind == frames->at[oldest].kind &&
             frames->at[i].from < frames->at[oldest].from))
            oldest = i;
    }
    end_frame(frames, oldest, batch);
    return oldest;
}

/* ---- opening ------------------------------------------------------------ */

/* `delivery` implies the frame if it has no first line; else NULL. */
static int open_frame(struct otlp_frames *frames, const struct model_frame *line,
                      const struct model_delivery *delivery, struct otlp_batch *batch)
{
    int index = find_free(frames, batch);
    struct otlp_frame *frame = &frames->at[index];

    frame->vat_id = strdup(line->vat_id);
    if (frame->vat_id == NULL) {
        otlp_batch_fail(batch);
        return -1;
    }
    frame->parent = find_parent(frames, line->kind);
    frame->open = true;
    frame->kind = line->kind;
    frame->number = line->number;
    frame->from = frame->to = line->time;
    frame->implied = delivery != NULL;
    frame_identify(frames, frame, line, delivery);
    return index;
}

static void end_kind(struct otlp_frames *frames, enum model_frame_kind kind, bool implied_only,
                     int except, struct otlp_batch *batch)
{
    for (int i = 0; i < OTLP_FRAMES_MOST; i++) {
        struct otlp_frame *frame = &frames->at[i];

        if (i != except && frame->open && frame->kind == kind && (frame->implied || !implied_only))
            end_frame(frames, i, batch);
    }
}

void otlp_frames_line(struct otlp_frames *frames, const struct model_frame *line,
                      struct otlp_batch *batch)
{
    int index = find_frame(frames, line->kind, line->number, line->vat_id);

    if (index >= 0 && !line->begins && line->time > frames->at[index].to)
        frames->at[index].to = line->time;
    if (index >= 0 && !line->begins && line->kind == MODEL_FRAME_BLOCK && !frames->at[index].ending)
        frames->at[index].ending = true;
    else if (index >= 0)
        end_frame(frames, index, batch);
    if (!line->begins)
        return;
    /* Only one block is open at a time; frames without a first line have no last line either. */
    end_kind(frames, line->kind, line->kind != MODEL_FRAME_BLOCK, -1, batch);
    open_frame(frames, line, NULL, batch);
}

int otlp_frames_find(struct otlp_frames *frames, const struct model_delivery *delivery,
                     struct otlp_batch *batch)
{
    struct model_frame line = {.kind = delivery->replay ? MODEL_FRAME_REPLAY : MODEL_FRAME_CRANK,
                               .number = delivery->replay ? MODEL_NONE : delivery->crank_num,
                               .vat_id = delivery->replay ? delivery->vat_id : "",
                               .time = delivery->start,
                               .monotime = MODEL_NONE};
    int index = find_frame(frames, line.kind, line.number, line.vat_id);

    end_kind(frames, MODEL_FRAME_CRANK, true, index, batch);
    end_kind(frames, MODEL_FRAME_REPLAY, true, index, batch);
    return index >= 0 ? index : open_frame(frames, &line, delivery, batch);
}

void otlp_frames_use(struct otlp_frames *frames, int frame, int64_t from, int64_t to)
{
    for (int i = frame; i >= 0; i = frames->at[i].parent) {
        struct otlp_frame *around = &frames->at[i];

        around->from = from < around->from ? from : around->from;
        around->to = to > around->to ? to : around->to;
        around->used = true;
    }
}

bool otlp_frames_around(struct otlp_frames *frames, int64_t from, int64_t to,
                        struct otlp_context *context)
{
    int index = find_last(frames, MODEL_FRAME_CRANK);

    /* A span that begins before the crank contains it. */
    if (index < 0 || from < frames->at[index].from)
        index = find_last(frames, MODEL_FRAME_BLOCK);
    if (index < 0)
        return false;
    otlp_frames_use(frames, index, from, to);
    *context = frames->at[index].context;
    return true;
}

void otlp_frames_clock_changed(struct otlp_frames *frames)
{
    for (int i = 0; i < OTLP_FRAMES_MOST; i++) {
        if (frames->at[i].open)
            frames->at[i].clock_changed = true;
    }
}
