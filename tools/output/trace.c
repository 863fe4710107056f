/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json/json_text.h"
#include "base/output/output_file.h"
#include "slog/read/names.h"
#include "tools/output/trace_functions.h"
#include "tools/output/trace_lanes.h"

enum { FLUSH_AT = 256 * 1024, KERNEL_TRACK = 0, FIRST_EXTRA_TRACK = 1 << 24 };

/* Times of a trace are less than 146 years from its beginning, so that sums of two are numbers. */
static const int64_t MOST = INT64_MAX / 2;

struct trace {
    struct output_file file;
    struct buf out;
    bool any;                 /* an event is in it */
    bool unwritten;           /* writing failed, which was said */
    int64_t zero;             /* the first delivery's start; MODEL_NONE before it */
    unsigned process;         /* the kernel's number, from 1 */
    struct names vats;        /* of this kernel; a vat's track is its number here + 1 */
    struct trace_lanes lanes; /* the same */
    /* Where the delivery of each number was put, for arrows to what it caused; owned. */
    struct trace_origin {
        unsigned process; /* 0: it is not in the trace */
        uint32_t track;
    } * origins;
    size_t origin_count, origin_capacity;
    struct trace_functions functions;
};

struct trace *trace_open(const char *path, struct error *error)
{
    struct trace *trace = calloc(1, sizeof *trace);

    if (trace == NULL) {
        error_memory(error, "the trace");
        return NULL;
    }
    if (output_file_open(&trace->file, path, "the trace", error) != 0) {
        free(trace);
        return NULL;
    }
    trace->zero = MODEL_NONE;
    buf_append_string(&trace->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    return trace;
}

/* ---- events ------------------------------------------------------------- */

static void begin_event(struct trace *trace, const char *phase, uint32_t track, const char *name)
{
    struct buf *out = &trace->out;

    buf_printf(out,
               "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%" PRIu32 ",\"name\":", trace->any ? "," : "",
               phase, trace->process, track);
    json_text_string(out, name, strlen(name));
    trace->any = true;
}

/* Names a process or track: `what` is process_name or thread_name. */
static void name_event(struct trace *trace, const char *what, uint32_t track, const char *name)
{
    begin_event(trace, "M", track, what);
    buf_append_string(&trace->out, ",\"args\":{\"name\":");
    json_text_string(&trace->out, name, strlen(name));
    buf_append_string(&trace->out, "}}");
}

/* Microseconds with three decimals, which keep the nanoseconds. */
static void append_microseconds(struct buf *out, const char *name, int64_t nanoseconds)
{
    buf_printf(out, ",\"%s\":%s%" PRId64 ".%03d", name, nanoseconds < 0 ? "-" : "",
               labs(nanoseconds) / 1000, (int)(labs(nanoseconds) % 1000));
}

/*
 * A span is two events, B and E: where one ends and another begins or ends, both say so by the
 * same digits. With one event and its length (X) each reader would have to add the two, and the
 * sums of doubles, or of what Perfetto cuts to nanoseconds, differ by a hair: what ought to nest
 * overlaps. The length is there for those who read the file themselves.
 */
static void begin_span(struct trace *trace, uint32_t track, const char *category, const char *name,
                       int64_t from, int64_t length)
{
    begin_event(trace, "B", track, name);
    buf_printf(&trace->out, ",\"cat\":\"%s\"", category);
    append_microseconds(&trace->out, "ts", from);
    append_microseconds(&trace->out, "dur", length);
}

static void begin_span_end(struct trace *trace, uint32_t track, const char *name, int64_t to)
{
    begin_event(trace, "E", track, name);
    append_microseconds(&trace->out, "ts", to);
}

static void open_span(struct trace *trace, uint32_t track, const char *category, const char *name,
                      int64_t from, int64_t length)
{
    begin_span(trace, track, category, name, from, length);
    buf_append_byte(&trace->out, '}');
}

static void close_span(struct trace *trace, uint32_t track, const char *name, int64_t to)
{
    begin_span_end(trace, track, name, to);
    buf_append_byte(&trace->out, '}');
}

/* A span that holds none; one of no length is left out, since nothing can show it. */
static void trace_add_span(struct trace *trace, uint32_t track, const char *category,
                           const char *name, int64_t from, int64_t length)
{
    if (length <= 0)
        return;
    open_span(trace, track, category, name, from, length);
    close_span(trace, track, name, from + length);
}

static void append_number(struct buf *out, const char *name, double number)
{
    if (!isnan(number))
        buf_printf(out, ",\"%s\":%.17g", name, number);
}

static void append_arguments(struct buf *out, const struct model_delivery *delivery)
{
    buf_printf(out, ",\"args\":{\"status\":\"%s\"", delivery->status == MODEL_OK ? "ok" : "error");
    if (delivery->problem[0] != '\0') {
        buf_append_string(out, ",\"error\":");
        json_text_string(out, delivery->problem, strlen(delivery->problem));
    }
    if (delivery->crank_num != MODEL_NONE)
        buf_printf(out, ",\"crankNum\":%" PRId64, delivery->crank_num);
    if (delivery->delivery_num != MODEL_NONE)
        buf_printf(out, ",\"deliveryNum\":%" PRId64, delivery->delivery_num);
    if (delivery->block_height != MODEL_NONE)
        buf_printf(out, ",\"blockHeight\":%" PRId64, delivery->block_height);
    append_number(out, "computrons", delivery->compute);
    append_number(out, "instructions", delivery->instructions);
    append_number(out, "blockCost", delivery->block_cost);
    append_number(out, "gasBurnt", delivery->gas_burnt);
    buf_append_string(out, "}}");
}

static void open_delivery(struct trace *trace, uint32_t track,
                          const struct model_delivery *delivery, int64_t from)
{
    begin_span(trace, track, delivery->replay ? "replay" : "delivery", delivery->description, from,
               delivery->total);
    append_arguments(&trace->out, delivery);
}

/* With all arguments again: speedscope tells by them which span it is that ends. */
static void close_delivery(struct trace *trace, uint32_t track,
                           const struct model_delivery *delivery, int64_t from)
{
    begin_span_end(trace, track, delivery->description, from + delivery->total);
    append_arguments(&trace->out, delivery);
}

/* ---- tracks ------------------------------------------------------------- */

static void begin_kernel(struct trace *trace)
{
    struct buf name = {0};

    trace->process++;
    names_free(&trace->vats);
    trace_lanes_free(&trace->lanes);
    buf_printf(&name, "kernel process %u", trace->process);
    if (buf_string(&name) != NULL)
        name_event(trace, "process_name", KERNEL_TRACK, name.data);
    else
        trace->out.failed = true;
    buf_free(&name);
    name_event(trace, "thread_name", KERNEL_TRACK, "kernel");
}

/* The track's name; of a lane behind its first one with its number, from 2. */
static void name_track(struct trace *trace, uint32_t track, uint32_t shown, uint32_t lane,
                       const struct model_delivery *delivery)
{
    struct buf name = {0};

    if (track == KERNEL_TRACK)
        buf_append_string(&name, "kernel");
    else
        buf_printf(&name, "%s%s%s", delivery->vat_id, delivery->vat_name != NULL ? " " : "",
                   delivery->vat_name != NULL ? delivery->vat_name : "");
    if (lane > 0)
        buf_printf(&name, " (%" PRIu32 ")", lane + 1);
    if (buf_string(&name) != NULL)
        name_event(trace, "thread_name", shown, name.data);
    else
        trace->out.failed = true;
    buf_free(&name);
}

/* The vat's track; NAMES_NONE when memory ran out. */
static uint32_t track_of(struct trace *trace, const struct model_delivery *delivery)
{
    uint32_t number = names_intern(&trace->vats, delivery->vat_id, strlen(delivery->vat_id));

    return number == NAMES_NONE ? NAMES_NONE : number + 1;
}

/*
 * The number under which a span of the track is shown, named when it is new, and where the
 * span begins there. When memory ran out the buffer has failed.
 */
static uint32_t place_span(struct trace *trace, uint32_t track,
                           const struct model_delivery *delivery, int64_t *from, int64_t length)
{
    struct trace_place place;
    uint32_t shown;

    if (track == NAMES_NONE ||
        trace_lanes_place(&trace->lanes, track, *from, length, &place) != 0) {
        trace->out.failed = true;
        return KERNEL_TRACK;
    }
    *from = place.from;
    shown = place.lane == 0 ? track : FIRST_EXTRA_TRACK + place.extra;
    if (place.new_lane && (place.lane > 0 || track != KERNEL_TRACK))
        name_track(trace, track, shown, place.lane, delivery);
    return shown;
}

/* ---- deliveries --------------------------------------------------------- */

/* A delivery on its way into the trace. */
struct placed {
    const struct model_delivery *delivery;
    uint32_t track; /* where it is shown */
    int64_t from;   /* in the trace; its first span begins there */
};

static int64_t moment_of(const struct placed *placed, int64_t moment)
{
    return placed->from + (moment - placed->delivery->spans[0].from);
}

static void add_kernel_span(struct trace *trace, const struct placed *placed,
                            const struct model_span *span)
{
    int64_t from = moment_of(placed, span->from), length = span->to - span->from;
    uint32_t shown;

    if (length <= 0)
        return;
    shown = place_span(trace, KERNEL_TRACK, placed->delivery, &from, length);
    trace_add_span(trace, shown, "kernel", placed->delivery->events[span->event].label, from,
                   length);
}

static void add_inner_span(struct trace *trace, const struct placed *placed,
                           const struct model_span *span)
{
    static const struct {
        const char *category, *name;
    } kinds[MODEL_SPAN_KINDS] = {[MODEL_SEND] = {"pipe", "send delivery"},
                                 [MODEL_UP] = {"pipe", "request up"},
                                 [MODEL_KERNEL] = {"kernel", "kernel"},
                                 [MODEL_DOWN] = {"pipe", "answer down"},
                                 [MODEL_RETURN] = {"pipe", "return result"},
                                 [MODEL_WAIT] = {"wait", "wait"},
                                 [MODEL_UNKNOWN] = {"unattributed", "unattributed"}};

    if (kinds[span->kind].name != NULL)
        trace_add_span(trace, placed->track, kinds[span->kind].category, kinds[span->kind].name,
                       moment_of(placed, span->from), span->to - span->from);
    if (span->kind == MODEL_KERNEL)
        add_kernel_span(trace, placed, span);
}

/* A request from its sending to the answer: those spans from an UP on that are of its event. */
static size_t add_request(struct trace *trace, const struct placed *placed, size_t first)
{
    const struct model_delivery *delivery = placed->delivery;
    const struct model_span *spans = delivery->spans + first;
    const struct model_event *event = &delivery->events[spans[0].event];
    size_t count = 1;
    int64_t length;

    while (first + count < delivery->span_count && spans[count].event == spans[0].event)
        count++;
    length = spans[count - 1].to - spans[0].from;
    if (length > 0)
        open_span(trace, placed->track, event->console ? "console" : "syscall", event->label,
                  moment_of(placed, spans[0].from), length);
    for (size_t i = 0; i < count; i++)
        add_inner_span(trace, placed, &spans[i]);
    if (length > 0)
        close_span(trace, placed->track, event->label, moment_of(placed, spans[count - 1].to));
    return count;
}

static void add_inner_spans(struct trace *trace, const struct placed *placed)
{
    const struct model_delivery *delivery = placed->delivery;
    size_t at = 0;

    while (at < delivery->span_count) {
        if (delivery->spans[at].kind == MODEL_UP) {
            at += add_request(trace, placed, at);
        } else {
            add_inner_span(trace, placed, &delivery->spans[at]);
            at++;
        }
    }
}

/* Where in the trace a delivery begins; whether that can be said. A file can invent any time. */
static bool find_start(struct trace *trace, const struct model_delivery *delivery, int64_t *from)
{
    int64_t end;

    if (delivery->total == MODEL_NONE || delivery->total < 0)
        return false;
    if (trace->zero == MODEL_NONE)
        trace->zero = delivery->start;
    return !__builtin_sub_overflow(delivery->start, trace->zero, from) &&
           !__builtin_add_overflow(*from, delivery->total, &end) && *from > -MOST && end < MOST;
}

/* ---- causes ---- */

/* One end of an arrow: `phase` is s or f. An arrow ends at the span that begins there (bp). */
static void add_arrow_end(struct trace *trace, const char *phase, unsigned process, uint32_t track,
                          uint64_t id, int64_t at)
{
    struct buf *out = &trace->out;

    buf_printf(out,
               "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%" PRIu32
               ",\"name\":\"cause\",\"cat\":\"cause\",\"id\":%" PRIu64 "%s",
               trace->any ? "," : "", phase, process, track, id,
               phase[0] == 'f' ? ",\"bp\":\"e\"" : "");
    append_microseconds(out, "ts", at);
    buf_append_byte(out, '}');
    trace->any = true;
}

/* An arrow from the send or resolve that caused the delivery, if that is in the trace. */
static void add_arrow(struct trace *trace, const struct placed *placed)
{
    const struct model_delivery *delivery = placed->delivery;
    const struct trace_origin *origin;

    if (delivery->cause == 0 || delivery->cause > trace->origin_count ||
        delivery->queued == MODEL_NONE || delivery->queued >= MOST)
        return;
    origin = &trace->origins[delivery->cause - 1];
    if (origin->process == 0)
        return;
    add_arrow_end(trace, "s", origin->process, origin->track, delivery->number,
                  placed->from - delivery->queued);
    add_arrow_end(trace, "f", trace->process, placed->track, delivery->number, placed->from);
}

/* Eight bytes for each delivery of the file. */
static void keep_origin(struct trace *trace, const struct placed *placed)
{
    uint64_t number = placed->delivery->number;
    struct trace_origin *origins;

    if (number == 0)
        return;
    origins = array_reserve(trace->origins, &trace->origin_capacity, number, sizeof *origins);
    if (origins == NULL) {
        trace->out.failed = true;
        return;
    }
    trace->origins = origins;
    while (trace->origin_count < number)
        origins[trace->origin_count++] = (struct trace_origin){0};
    origins[number - 1] = (struct trace_origin){trace->process, placed->track};
}

/* ---- functions ---- */

int trace_add_profile(struct trace *trace, const char *path, struct error *error)
{
    return trace_functions_add(&trace->functions, path, error);
}

enum { OPEN_MOST = 1000 }; /* as many calls as a tree has spans */

/* Calls that are shown and have not ended, the innermost last. */
struct open_calls {
    struct {
        const char *name;
        int64_t to;
    } calls[OPEN_MOST];
    size_t count;
};

static void close_calls(struct trace *trace, uint32_t track, struct open_calls *open, int64_t until)
{
    while (open->count > 0 && open->calls[open->count - 1].to <= until) {
        open->count--;
        close_span(trace, track, open->calls[open->count].name, open->calls[open->count].to);
    }
}

static const char *function_of(const json_t *tree, const json_t *span)
{
    const json_t *const node = json_array_get(json_object_get(tree, "nodes"),
                                              (size_t)json_integer_value(json_array_get(span, 0)));
    const json_t *const function = json_array_get(
        json_object_get(tree, "functions"), (size_t)json_integer_value(json_array_get(node, 1)));

    return json_string_value(json_array_get(function, 0));
}

/* Their times were rounded: what ought to nest is made to. */
static void add_call(struct trace *trace, uint32_t track, struct open_calls *open, const char *name,
                     int64_t from, int64_t to)
{
    close_calls(trace, track, open, from);
    if (open->count > 0 && to > open->calls[open->count - 1].to)
        to = open->calls[open->count - 1].to;
    if (to <= from || open->count == OPEN_MOST)
        return;
    open_span(trace, track, "function", name, from, to - from);
    open->calls[open->count].name = name;
    open->calls[open->count++].to = to;
}

/* When the worker had it, which the times of its calls count from. */
static int64_t arrival_of(const struct model_delivery *delivery)
{
    for (size_t i = 0; i < delivery->span_count; i++)
        if (delivery->spans[i].kind == MODEL_SEND)
            return delivery->spans[i].to - delivery->spans[0].from;
    return 0;
}

static void add_calls(struct trace *trace, uint32_t track, const json_t *tree, int64_t from,
                      int64_t length)
{
    struct open_calls open = {.count = 0};
    const json_t *span;
    size_t i;

    json_array_foreach(json_object_get(tree, "spans"), i, span)
    {
        const int64_t begin = json_integer_value(json_array_get(span, 1));
        const int64_t took = json_integer_value(json_array_get(span, 2));
        const char *const name = function_of(tree, span);

        if (begin < length && name != NULL)
            add_call(trace, track, &open, name, from + begin,
                     from + (took < length - begin ? begin + took : length));
    }
    close_calls(trace, track, &open, INT64_MAX);
}

/* On a track of their own: a syscall's span there would begin in the middle of functions. */
static void add_functions(struct trace *trace, const struct placed *placed)
{
    const struct model_delivery *const delivery = placed->delivery;
    json_t *const tree =
        delivery->vat_id == NULL || delivery->clock_changed
            ? NULL
            : trace_functions_find(&trace->functions, delivery->vat_id, delivery->delivery_num);
    struct model_delivery functions = {0};
    int64_t from = placed->from + arrival_of(delivery);
    const int64_t length = placed->from + delivery->total - from;
    struct buf name = {0};
    uint32_t track;

    if (tree == NULL)
        return;
    buf_printf(&name, "%s functions", delivery->vat_id);
    functions.vat_id = buf_string(&name);
    if (functions.vat_id == NULL) {
        trace->out.failed = true;
    } else if (length > 0) {
        track = place_span(trace, track_of(trace, &functions), &functions, &from, length);
        add_calls(trace, track, tree, from, length);
    }
    buf_free(&name);
    json_decref(tree);
}

/* ---- phases ---- */

void trace_add_phase(struct trace *trace, const struct phase_span *span)
{
    const struct model_delivery phases = {.vat_id = "phases"};
    struct model_delivery moment = {.start = span->start, .total = span->total};
    struct buf name = {0};
    uint32_t track;
    int64_t from;

    if (span->phase == PHASE_CRANK || span->phase == PHASE_DELIVERY || span->phase == PHASE_OTHER ||
        span->total == 0 || !find_start(trace, &moment, &from))
        return;
    if (trace->process == 0)
        begin_kernel(trace);
    buf_printf(&name, "%s%s%s", phase_name(span->phase),
               span->name[0] != '\0' || span->vat_id[0] != '\0' ? " " : "",
               span->name[0] != '\0' ? span->name : span->vat_id);
    if (buf_string(&name) == NULL) {
        trace->out.failed = true;
        return;
    }
    track = place_span(trace, track_of(trace, &phases), &phases, &from, span->total);
    trace_add_span(trace, track, "phase", name.data, from, span->total);
    buf_free(&name);
}

int trace_add(struct trace *trace, const struct model_delivery *delivery, struct error *error)
{
    struct placed placed = {.delivery = delivery};

    if (!find_start(trace, delivery, &placed.from))
        return 0;
    if (trace->process == 0)
        begin_kernel(trace);
    placed.track =
        place_span(trace, track_of(trace, delivery), delivery, &placed.from, delivery->total);
    keep_origin(trace, &placed);
    add_arrow(trace, &placed);
    open_delivery(trace, placed.track, delivery, placed.from);
    if (!delivery->clock_changed)
        add_inner_spans(trace, &placed);
    close_delivery(trace, placed.track, delivery, placed.from);
    add_functions(trace, &placed);
    if (trace->out.length < FLUSH_AT && !buf_failed(&trace->out))
        return 0;
    if (output_file_write(&trace->file, &trace->out, error) == 0)
        return 0;
    trace->unwritten = true;
    return -1;
}

void trace_new_kernel(struct trace *trace)
{
    begin_kernel(trace);
}

static int trace_finish(struct trace *trace, struct error *error)
{
    buf_append_string(&trace->out, "\n]}\n");
    if (output_file_write(&trace->file, &trace->out, error) != 0)
        return -1;
    return output_file_finish(&trace->file, error);
}

int trace_close(struct trace *trace, struct error *error)
{
    int result;

    if (trace == NULL)
        return 0;
    result = trace->unwritten ? 0 : trace_finish(trace, error);
    output_file_discard(&trace->file);
    names_free(&trace->vats);
    trace_lanes_free(&trace->lanes);
    trace_functions_free(&trace->functions);
    buf_free(&trace->out);
    free(trace->origins);
    free(trace);
    return result;
}
