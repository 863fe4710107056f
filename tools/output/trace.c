/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json/json_text.h"
#include "base/output_file.h"
#include "slog/read/names.h"

enum { FLUSH_AT = 256 * 1024, KERNEL_TRACK = 0 };

struct trace {
    struct output_file file;
    struct buf out;
    bool any;          /* an event is in it */
    int64_t zero;      /* the first delivery's start; MODEL_NONE before it */
    unsigned process;  /* the kernel's number, from 1 */
    struct names vats; /* of this kernel; a vat's track is its number here + 1 */
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

static void begin_span(struct trace *trace, uint32_t track, const char *category, const char *name,
                       int64_t from, int64_t length)
{
    begin_event(trace, "X", track, name);
    buf_printf(&trace->out, ",\"cat\":\"%s\"", category);
    append_microseconds(&trace->out, "ts", from);
    append_microseconds(&trace->out, "dur", length);
}

/* A span without more to say of it; one of no length is left out, since nothing can show it. */
static void add_span(struct trace *trace, uint32_t track, const char *category, const char *name,
                     int64_t from, int64_t length)
{
    if (length <= 0)
        return;
    begin_span(trace, track, category, name, from, length);
    buf_append_byte(&trace->out, '}');
}

static void append_number(struct buf *out, const char *name, double number)
{
    if (!isnan(number))
        buf_printf(out, ",\"%s\":%.17g", name, number);
}

static void add_delivery_span(struct trace *trace, uint32_t track,
                              const struct model_delivery *delivery, int64_t from)
{
    struct buf *out = &trace->out;

    begin_span(trace, track, delivery->replay ? "replay" : "delivery", delivery->description, from,
               delivery->total);
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
    buf_append_string(out, "}}");
}

/* ---- deliveries --------------------------------------------------------- */

static void begin_kernel(struct trace *trace)
{
    struct buf name = {0};

    trace->process++;
    names_free(&trace->vats);
    buf_printf(&name, "kernel process %u", trace->process);
    if (buf_string(&name) != NULL)
        name_event(trace, "process_name", KERNEL_TRACK, name.data);
    else
        trace->out.failed = true;
    buf_free(&name);
    name_event(trace, "thread_name", KERNEL_TRACK, "kernel");
}

/* The vat's track, named when it is new; 0 when memory ran out. */
static uint32_t track_of(struct trace *trace, const struct model_delivery *delivery)
{
    size_t before = trace->vats.count;
    uint32_t number = names_intern(&trace->vats, delivery->vat_id, strlen(delivery->vat_id));
    struct buf name = {0};

    if (number == NAMES_NONE) {
        trace->out.failed = true;
        return KERNEL_TRACK;
    }
    if (trace->vats.count > before) {
        buf_printf(&name, "%s %s", delivery->vat_id, delivery->vat_name);
        if (buf_string(&name) != NULL)
            name_event(trace, "thread_name", number + 1, name.data);
        else
            trace->out.failed = true;
        buf_free(&name);
    }
    return number + 1;
}

/* A request from its sending to the answer; `spans` begins at its UP. */
static void add_request(struct trace *trace, uint32_t track, const struct model_delivery *delivery,
                        const struct model_span *spans, int64_t shift)
{
    const struct model_event *event = &delivery->events[spans[0].event];
    const struct model_span *last = &spans[1];

    while (last->kind == MODEL_KERNEL)
        last++;
    add_span(trace, track, event->console ? "console" : "syscall", event->label,
             spans[0].from + shift, last->to - spans[0].from);
}

static void add_inner_span(struct trace *trace, uint32_t track,
                           const struct model_delivery *delivery, const struct model_span *span,
                           int64_t shift)
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
    int64_t from = span->from + shift, length = span->to - span->from;

    if (span->kind == MODEL_UP)
        add_request(trace, track, delivery, span, shift);
    if (kinds[span->kind].name != NULL)
        add_span(trace, track, kinds[span->kind].category, kinds[span->kind].name, from, length);
    if (span->kind == MODEL_KERNEL)
        add_span(trace, KERNEL_TRACK, "kernel", delivery->events[span->event].label, from, length);
}

int trace_add(struct trace *trace, const struct model_delivery *delivery, struct error *error)
{
    uint32_t track;
    int64_t from;

    if (delivery->total == MODEL_NONE || delivery->total < 0)
        return 0;
    if (trace->process == 0)
        begin_kernel(trace);
    if (trace->zero == MODEL_NONE)
        trace->zero = delivery->start;
    track = track_of(trace, delivery);
    from = delivery->start - trace->zero;
    add_delivery_span(trace, track, delivery, from);
    for (size_t i = 0; i < delivery->span_count && !delivery->clock_changed; i++)
        add_inner_span(trace, track, delivery, &delivery->spans[i], from - delivery->spans[0].from);
    if (trace->out.length < FLUSH_AT && !buf_failed(&trace->out))
        return 0;
    return output_file_write(&trace->file, &trace->out, error);
}

void trace_new_kernel(struct trace *trace)
{
    begin_kernel(trace);
}

int trace_close(struct trace *trace, struct error *error)
{
    int result;

    if (trace == NULL)
        return 0;
    buf_append_string(&trace->out, "\n]}\n");
    result = output_file_write(&trace->file, &trace->out, error);
    if (result == 0)
        result = output_file_finish(&trace->file, error);
    output_file_discard(&trace->file);
    names_free(&trace->vats);
    buf_free(&trace->out);
    free(trace);
    return result;
}
