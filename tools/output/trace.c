/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/trace.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json/json_text.h"
#include "base/output/chrome_trace.h"
#include "slog/read/names.h"
#include "slog/read/reader.h"
#include "tools/input/profile_tree.h"

struct trace_lane {
    int64_t end;       /* of its last span */
    int64_t tolerance; /* by which the next span may begin before that */
    uint32_t next;     /* the track's next lane + 1; 0: none */
    uint32_t extra;    /* as in struct trace_place */
};

/*
 * Places spans on tracks without overlap. Each track (0, 1, …) has a lane; more are added if spans
 * overlap, as when the clock was set back between two deliveries, or when the kernel handled
 * syscalls of concurrent deliveries. All zeros has no lanes.
 */
struct trace_lanes {
    struct trace_lane *lanes; /* owned */
    size_t count, capacity;
    uint32_t *first; /* of each track: its first lane + 1, or 0; owned */
    size_t track_count, track_capacity;
    uint32_t extra_count; /* lanes that are not the first of their track */
};

struct trace_place {
    uint32_t lane;  /* number in its track, from 0 */
    uint32_t extra; /* if lane > 0: its number among all such lanes, from 1 */
    bool new_lane;  /* this is its first span */
    int64_t from;   /* the span's beginning, perhaps moved */
};

/*
 * Trees with spans from profiles of gaspipe trace (docs/profile-format.md), kept as text until
 * their delivery comes. All zeros: none.
 */
struct trace_functions {
    struct kept_tree {
        char *vat_id, *line; /* owned */
        int64_t delivery_num;
        size_t length, order;
    } * trees; /* owned; sorted before the first search */
    size_t count, capacity;
    int sorted;
};

enum { STAMP_NANOSECONDS = 1000, SLEW_SHARE = 1000 };

/* The element for a track's first lane; NULL when out of memory. */
static uint32_t *first_of(struct trace_lanes *lanes, uint32_t track)
{
    uint32_t *first = array_reserve(lanes->first, &lanes->track_capacity, (size_t)track + 1,
                                    sizeof *lanes->first);

    if (first == NULL)
        return NULL;
    lanes->first = first;
    while (lanes->track_count <= track)
        first[lanes->track_count++] = 0;
    return &first[track];
}

/* Adds a lane to a track, after `last` - 1, or as the first if `last` is 0. */
static int add_lane(struct trace_lanes *lanes, uint32_t *first, uint32_t last)
{
    struct trace_lane *array =
        array_reserve(lanes->lanes, &lanes->capacity, lanes->count + 1, sizeof *array);

    if (array == NULL)
        return -1;
    lanes->lanes = array;
    array[lanes->count++] = (struct trace_lane){.end = INT64_MIN};
    if (last == 0) {
        *first = (uint32_t)lanes->count;
        return 0;
    }
    array[last - 1].next = (uint32_t)lanes->count;
    array[lanes->count - 1].extra = ++lanes->extra_count;
    return 0;
}

static bool fits_lane(const struct trace_lane *lane, int64_t from)
{
    return lane->end == INT64_MIN || from >= lane->end - lane->tolerance;
}

/*
 * Finds a place for a span at `from` of `length` nanoseconds (0 or more), both ends at most
 * INT64_MAX / 2 from 0. A span that overlaps the end of the previous one by no more than the error
 * of start stamps (a microsecond, and a thousandth of the previous one's length, as the clock may
 * have been slewed) is moved after it. -1 when out of memory.
 */
static int trace_lanes_place(struct trace_lanes *lanes, uint32_t track, int64_t from,
                             int64_t length, struct trace_place *place)
{
    uint32_t *first = first_of(lanes, track), last = 0, at;
    struct trace_lane *lane;

    if (first == NULL)
        return -1;
    *place = (struct trace_place){0};
    for (at = *first; at != 0 && !fits_lane(&lanes->lanes[at - 1], from);
         at = lanes->lanes[at - 1].next) {
        place->lane++;
        last = at;
    }
    if (at == 0) {
        if (add_lane(lanes, first, last) != 0)
            return -1;
        place->new_lane = true;
        at = (uint32_t)lanes->count;
    }
    lane = &lanes->lanes[at - 1];
    place->extra = lane->extra;
    place->from = lane->end > from ? lane->end : from;
    lane->end = place->from + length;
    lane->tolerance = STAMP_NANOSECONDS + length / SLEW_SHARE;
    return 0;
}

static void trace_lanes_free(struct trace_lanes *lanes)
{
    free(lanes->lanes);
    free(lanes->first);
    *lanes = (struct trace_lanes){0};
}

static int trace_functions_keep(struct trace_functions *functions, const struct reader_line *line,
                                const json_t *tree, struct error *error)
{
    struct kept_tree *const trees =
        array_reserve(functions->trees, &functions->capacity, functions->count + 1, sizeof *trees);
    struct kept_tree *kept;

    if (trees == NULL)
        return error_memory(error, "a profile");
    functions->trees = trees;
    kept = &trees[functions->count];
    *kept = (struct kept_tree){
        .vat_id = strdup(json_string_value(json_object_get(tree, "vatID"))),
        .line = malloc(line->length),
        .delivery_num = json_integer_value(json_object_get(tree, "deliveryNum")),
        .length = line->length,
        .order = functions->count,
    };
    functions->count++;
    functions->sorted = 0;
    if (kept->vat_id == NULL || kept->line == NULL)
        return error_memory(error, "a profile");
    memcpy(kept->line, line->bytes, line->length);
    return 0;
}

/* Trees of other profiles have no times. */
static int on_tree(void *context, const json_t *tree, const struct reader_line *line,
                   struct error *error)
{
    return json_array_size(json_object_get(tree, "spans")) > 0
               ? trace_functions_keep(context, line, tree, error)
               : 0;
}

/* Adds a profile. -1 with ERROR_INPUT (naming file and line) if it is not one, or ERROR_SYSTEM. */
static int trace_functions_add(struct trace_functions *functions, const char *path,
                               struct error *error)
{
    return profile_tree_read(path, on_tree, functions, error);
}

static void trace_functions_free(struct trace_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        free(functions->trees[i].vat_id);
        free(functions->trees[i].line);
    }
    free(functions->trees);
    *functions = (struct trace_functions){0};
}

static int compare_deliveries(const struct kept_tree *a, const struct kept_tree *b)
{
    const int vats = strcmp(a->vat_id, b->vat_id);

    if (vats != 0)
        return vats;
    return (a->delivery_num > b->delivery_num) - (a->delivery_num < b->delivery_num);
}

static int by_tree_delivery(const void *a, const void *b)
{
    const struct kept_tree *const x = a, *const y = b;
    const int deliveries = compare_deliveries(x, y);

    return deliveries != 0 ? deliveries : (x->order > y->order) - (x->order < y->order);
}

/*
 * The delivery's tree, already validated; the last if there are several. The caller releases it.
 * NULL if none, or out of memory.
 */
static json_t *trace_functions_find(struct trace_functions *functions, const char *vat_id,
                                    int64_t delivery_num)
{
    const struct kept_tree wanted = {.vat_id = (char *)vat_id, .delivery_num = delivery_num};
    size_t low = 0, high = functions->count;

    if (functions->count == 0)
        return NULL;
    if (!functions->sorted)
        qsort(functions->trees, functions->count, sizeof *functions->trees, by_tree_delivery);
    functions->sorted = 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (compare_deliveries(&functions->trees[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || compare_deliveries(&functions->trees[low - 1], &wanted) != 0)
        return NULL;
    return json_loadb(functions->trees[low - 1].line, functions->trees[low - 1].length, 0, NULL);
}

enum { KERNEL_TRACK = 0, FIRST_EXTRA_TRACK = 1 << 24 };

/* Times are less than 146 years from the trace's beginning, so that sums of two do not overflow. */
static const int64_t MOST = INT64_MAX / 2;

struct trace {
    struct chrome_trace chrome;
    int64_t zero;             /* the first delivery's start; MODEL_NONE before the first */
    unsigned process;         /* the kernel's number, from 1 */
    struct names vats;        /* of this kernel process; a vat's track is its number + 1 */
    struct trace_lanes lanes; /* the same */
    /* Tracks of deliveries by number, for arrows to what they caused; owned. */
    struct trace_origin {
        unsigned process; /* 0: not in the trace */
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
    if (chrome_trace_open(&trace->chrome, path, "the trace", error) != 0) {
        free(trace);
        return NULL;
    }
    trace->zero = MODEL_NONE;
    return trace;
}

/* ---- events ------------------------------------------------------------- */

static struct chrome_track track_in(const struct trace *trace, uint32_t track)
{
    return (struct chrome_track){trace->process, track};
}

static void open_span(struct trace *trace, uint32_t track, const char *category, const char *name,
                      int64_t from, int64_t length)
{
    chrome_trace_open_span(&trace->chrome, track_in(trace, track), category, name, from, length);
}

static void close_span(struct trace *trace, uint32_t track, const char *name, int64_t to)
{
    chrome_trace_close_span(&trace->chrome, track_in(trace, track), name, to);
}

/* Adds a span without inner spans, unless its length is 0, which cannot be shown. */
static void trace_add_span(struct trace *trace, uint32_t track, const char *category,
                           const char *name, int64_t from, int64_t length)
{
    if (length <= 0)
        return;
    open_span(trace, track, category, name, from, length);
    close_span(trace, track, name, from + length);
}

static void append_argument(struct buf *out, const char *name, double number)
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
    append_argument(out, "computrons", delivery->compute);
    append_argument(out, "instructions", delivery->instructions);
    append_argument(out, "blockCost", delivery->block_cost);
    append_argument(out, "gasBurnt", delivery->gas_burnt);
    buf_append_byte(out, '}');
}

static void open_delivery(struct trace *trace, uint32_t track,
                          const struct model_delivery *delivery, int64_t from)
{
    chrome_trace_begin_span(&trace->chrome, track_in(trace, track),
                            delivery->replay ? "replay" : "delivery", delivery->description, from,
                            delivery->total);
    append_arguments(&trace->chrome.out, delivery);
    chrome_trace_end_event(&trace->chrome);
}

/* Repeats all arguments: speedscope matches the end of a span by them. */
static void close_delivery(struct trace *trace, uint32_t track,
                           const struct model_delivery *delivery, int64_t from)
{
    chrome_trace_begin_span_end(&trace->chrome, track_in(trace, track), delivery->description,
                                from + delivery->total);
    append_arguments(&trace->chrome.out, delivery);
    chrome_trace_end_event(&trace->chrome);
}

/* ---- tracks ------------------------------------------------------------- */

static void trace_begin_kernel(struct trace *trace)
{
    struct buf name = {0};

    trace->process++;
    names_free(&trace->vats);
    trace_lanes_free(&trace->lanes);
    buf_printf(&name, "kernel process %u", trace->process);
    if (buf_string(&name) != NULL)
        chrome_trace_name(&trace->chrome, track_in(trace, KERNEL_TRACK), "process_name", name.data);
    else
        trace->chrome.out.failed = true;
    buf_free(&name);
    chrome_trace_name(&trace->chrome, track_in(trace, KERNEL_TRACK), "thread_name", "kernel");
}

/* Names a track; further lanes with their number, from 2. */
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
        chrome_trace_name(&trace->chrome, track_in(trace, shown), "thread_name", name.data);
    else
        trace->chrome.out.failed = true;
    buf_free(&name);
}

/* The vat's track; NAMES_NONE when out of memory. */
static uint32_t trace_track_of(struct trace *trace, const struct model_delivery *delivery)
{
    uint32_t number = names_intern(&trace->vats, delivery->vat_id, strlen(delivery->vat_id));

    return number == NAMES_NONE ? NAMES_NONE : number + 1;
}

/*
 * Places a span of a track. Returns the shown track, named if new, and moves *from. When out of
 * memory the buffer has failed.
 */
static uint32_t place_span(struct trace *trace, uint32_t track,
                           const struct model_delivery *delivery, int64_t *from, int64_t length)
{
    struct trace_place place;
    uint32_t shown;

    if (track == NAMES_NONE ||
        trace_lanes_place(&trace->lanes, track, *from, length, &place) != 0) {
        trace->chrome.out.failed = true;
        return KERNEL_TRACK;
    }
    *from = place.from;
    shown = place.lane == 0 ? track : FIRST_EXTRA_TRACK + place.extra;
    if (place.new_lane && (place.lane > 0 || track != KERNEL_TRACK))
        name_track(trace, track, shown, place.lane, delivery);
    return shown;
}

/* ---- deliveries --------------------------------------------------------- */

/* A placed delivery. */
struct placed {
    const struct model_delivery *delivery;
    uint32_t track; /* where it is shown */
    int64_t from;   /* beginning of its first span in the trace */
};

static int64_t moment_in_trace(const struct placed *placed, int64_t moment)
{
    return placed->from + (moment - placed->delivery->spans[0].from);
}

static void add_kernel_span(struct trace *trace, const struct placed *placed,
                            const struct model_span *span)
{
    int64_t from = moment_in_trace(placed, span->from), length = span->to - span->from;
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
                       moment_in_trace(placed, span->from), span->to - span->from);
    if (span->kind == MODEL_KERNEL)
        add_kernel_span(trace, placed, span);
}

/* Adds a request from sending to answer: the spans of its event, from UP. Returns how many. */
static size_t trace_add_request(struct trace *trace, const struct placed *placed, size_t first)
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
                  moment_in_trace(placed, spans[0].from), length);
    for (size_t i = 0; i < count; i++)
        add_inner_span(trace, placed, &spans[i]);
    if (length > 0)
        close_span(trace, placed->track, event->label,
                   moment_in_trace(placed, spans[count - 1].to));
    return count;
}

static void add_inner_spans(struct trace *trace, const struct placed *placed)
{
    const struct model_delivery *delivery = placed->delivery;
    size_t at = 0;

    while (at < delivery->span_count) {
        if (delivery->spans[at].kind == MODEL_UP) {
            at += trace_add_request(trace, placed, at);
        } else {
            add_inner_span(trace, placed, &delivery->spans[at]);
            at++;
        }
    }
}

/*
 * Finds a delivery's beginning in the trace; false if out of range, as a file can invent any time.
 */
static bool trace_find_start(struct trace *trace, const struct model_delivery *delivery,
                             int64_t *from)
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

/*
 * Adds one end of an arrow: `phase` is s or f. With `bp` an arrow ends at the span that begins
 * there.
 */
static void add_arrow_end(struct trace *trace, const char *phase, unsigned process, uint32_t track,
                          uint64_t id, int64_t at)
{
    chrome_trace_begin_event(&trace->chrome, phase, (struct chrome_track){process, track}, "cause");
    buf_printf(&trace->chrome.out, ",\"cat\":\"cause\",\"id\":%" PRIu64 "%s", id,
               phase[0] == 'f' ? ",\"bp\":\"e\"" : "");
    chrome_trace_time(&trace->chrome, "ts", at);
    chrome_trace_end_event(&trace->chrome);
}

/* Adds an arrow from the send or resolve that caused the delivery, if that is in the trace. */
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
        trace->chrome.out.failed = true;
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

enum { OPEN_MOST = 1000 }; /* the most spans of a tree */

/* Open calls, the innermost last. */
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

static const char *name_of_call(const json_t *tree, const json_t *span)
{
    const json_t *const node = json_array_get(json_object_get(tree, "nodes"),
                                              (size_t)json_integer_value(json_array_get(span, 0)));
    const json_t *const function = json_array_get(
        json_object_get(tree, "functions"), (size_t)json_integer_value(json_array_get(node, 1)));

    return json_string_value(json_array_get(function, 0));
}

/* Shortens a call so that it nests, since times were rounded. */
static void trace_add_call(struct trace *trace, uint32_t track, struct open_calls *open,
                           const char *name, int64_t from, int64_t to)
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

/* When the worker received it, from which its calls' times count. */
static int64_t arrival_of(const struct model_delivery *delivery)
{
    for (size_t i = 0; i < delivery->span_count; i++)
        if (delivery->spans[i].kind == MODEL_SEND)
            return delivery->spans[i].to - delivery->spans[0].from;
    return 0;
}

static void trace_add_calls(struct trace *trace, uint32_t track, const json_t *tree, int64_t from,
                            int64_t length)
{
    struct open_calls open = {.count = 0};
    const json_t *span;
    size_t i;

    json_array_foreach(json_object_get(tree, "spans"), i, span)
    {
        const int64_t begin = json_integer_value(json_array_get(span, 1));
        const int64_t took = json_integer_value(json_array_get(span, 2));
        const char *const name = name_of_call(tree, span);

        if (begin < length && name != NULL)
            trace_add_call(trace, track, &open, name, from + begin,
                           from + (took < length - begin ? begin + took : length));
    }
    close_calls(trace, track, &open, INT64_MAX);
}

/* On their own track: a syscall's span would begin in the middle of functions. */
static void trace_add_functions(struct trace *trace, const struct placed *placed)
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
        trace->chrome.out.failed = true;
    } else if (length > 0) {
        track = place_span(trace, trace_track_of(trace, &functions), &functions, &from, length);
        trace_add_calls(trace, track, tree, from, length);
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
        span->total == 0 || !trace_find_start(trace, &moment, &from))
        return;
    if (trace->process == 0)
        trace_begin_kernel(trace);
    buf_printf(&name, "%s%s%s", phase_name(span->phase),
               span->name[0] != '\0' || span->vat_id[0] != '\0' ? " " : "",
               span->name[0] != '\0' ? span->name : span->vat_id);
    if (buf_string(&name) == NULL) {
        trace->chrome.out.failed = true;
        return;
    }
    track = place_span(trace, trace_track_of(trace, &phases), &phases, &from, span->total);
    trace_add_span(trace, track, "phase", name.data, from, span->total);
    buf_free(&name);
}

int trace_add(struct trace *trace, const struct model_delivery *delivery, struct error *error)
{
    struct placed placed = {.delivery = delivery};

    if (!trace_find_start(trace, delivery, &placed.from))
        return 0;
    if (trace->process == 0)
        trace_begin_kernel(trace);
    placed.track =
        place_span(trace, trace_track_of(trace, delivery), delivery, &placed.from, delivery->total);
    keep_origin(trace, &placed);
    add_arrow(trace, &placed);
    open_delivery(trace, placed.track, delivery, placed.from);
    if (!delivery->clock_changed)
        add_inner_spans(trace, &placed);
    close_delivery(trace, placed.track, delivery, placed.from);
    trace_add_functions(trace, &placed);
    return chrome_trace_write(&trace->chrome, error);
}

void trace_new_kernel(struct trace *trace)
{
    trace_begin_kernel(trace);
}

int trace_close(struct trace *trace, struct error *error)
{
    int result;

    if (trace == NULL)
        return 0;
    result = chrome_trace_finish(&trace->chrome, error);
    chrome_trace_free(&trace->chrome);
    names_free(&trace->vats);
    trace_lanes_free(&trace->lanes);
    trace_functions_free(&trace->functions);
    free(trace->origins);
    free(trace);
    return result;
}
