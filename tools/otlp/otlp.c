/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otlp/otlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/model/causes.h"
#include "slog/model/fnv1a.h"
#include "tools/otlp/otlp_batch.h"
#include "tools/otlp/otlp_frames.h"

struct otlp {
    struct otlp_batch *batch;
    struct otlp_frames frames;
    struct links links;
    /* Causes of the current delivery; owned. */
    struct otlp_context *causes;
    size_t cause_count, cause_capacity;
};

/* The delivery that is being added. */
struct adding {
    struct otlp *otlp;
    const struct model_delivery *delivery;
    struct otlp_context context; /* of its span */
    int64_t to;                  /* its end, since the epoch */
    bool detailed;
};

struct otlp *otlp_open(const char *where, bool growing, struct error *error)
{
    struct otlp *otlp = calloc(1, sizeof *otlp);

    if (otlp == NULL) {
        error_memory(error, "spans");
        return NULL;
    }
    otlp->batch = otlp_batch_open(where, growing, error);
    if (otlp->batch == NULL) {
        free(otlp);
        return NULL;
    }
    return otlp;
}

/* ---- ids and times ------------------------------------------------------ */

static uint64_t delivery_id(const struct otlp_frame *frame, const struct model_delivery *delivery)
{
    uint64_t digest =
        otlp_child_id(frame->context.span, "delivery", (uint64_t)delivery->delivery_num);

    digest = fnv1a_add(digest, delivery->vat_id, strlen(delivery->vat_id));
    return otlp_child_id(digest, "start", (uint64_t)delivery->start);
}

static struct otlp_context request_context(const struct adding *adding, size_t request)
{
    struct otlp_context context = adding->context;

    context.span = otlp_child_id(context.span, "request", request);
    return context;
}

/*
 * Converts a moment on the delivery's clock to one since the epoch, limited to the delivery:
 * moments on the two clocks may differ.
 */
static int64_t otlp_moment(const struct adding *adding, int64_t moment)
{
    int64_t since, found;

    if (__builtin_sub_overflow(moment, adding->delivery->sent, &since) ||
        __builtin_add_overflow(adding->delivery->start, since, &found) ||
        found < adding->delivery->start)
        return adding->delivery->start;
    return found < adding->to ? found : adding->to;
}

/* ---- spans -------------------------------------------------------------- */

/* Begins a span within the delivery's and returns the buffer for its attributes. */
static struct buf *begin_span(const struct adding *adding, struct otlp_span *span, int64_t from,
                              int64_t to)
{
    struct buf *out = otlp_batch_span(adding->otlp->batch);

    span->from = otlp_moment(adding, from);
    span->to = otlp_moment(adding, to);
    if (span->to < span->from)
        span->to = span->from;
    otlp_span_begin(out, span);
    return out;
}

static void add_hop(const struct adding *adding, uint64_t parent, const struct model_span *span)
{
    static const char *const names[MODEL_SPAN_KINDS] = {[MODEL_SEND] = "pipe: delivery down",
                                                        [MODEL_UP] = "pipe: request up",
                                                        [MODEL_KERNEL] = "kernel",
                                                        [MODEL_DOWN] = "pipe: answer down",
                                                        [MODEL_RETURN] = "pipe: result up",
                                                        [MODEL_WAIT] = "wait",
                                                        [MODEL_UNKNOWN] = "unattributed"};
    struct otlp_span hop = {.context = adding->context, .parent = parent, .kind = OTLP_INTERNAL};

    if (names[span->kind] == NULL)
        return;
    hop.name = names[span->kind];
    hop.context.span = otlp_child_id(parent, hop.name, (uint64_t)span->from);
    otlp_span_end(begin_span(adding, &hop, span->from, span->to));
}

/* Counts a request's spans; 0 if the worker stamped none. */
static size_t spans_of_request(const struct model_delivery *delivery, size_t first, size_t request)
{
    size_t count = 0;

    while (first + count < delivery->span_count && delivery->spans[first + count].event == request)
        count++;
    return count;
}

/* A request from sending to answer or, without stamps, as the kernel saw it. */
static void otlp_add_request(const struct adding *adding, size_t request,
                             const struct model_span *spans, size_t count)
{
    const struct model_event *event = &adding->delivery->events[request];
    struct otlp_span span = {.context = request_context(adding, request),
                             .parent = adding->context.span,
                             .kind = event->message.digest != 0 ? OTLP_PRODUCER : OTLP_CLIENT,
                             .name = event->kind};
    int64_t answered = event->answered != MODEL_NONE ? event->answered : event->arrived;
    struct buf *out = begin_span(adding, &span, count > 0 ? spans[0].from : event->arrived,
                                 count > 0 ? spans[count - 1].to : answered);

    otlp_attribute_text(out, "swingset.description", event->label);
    if (!event->console)
        otlp_attribute_integer(out, "swingset.request_bytes", (int64_t)event->request_bytes);
    otlp_span_end(out);
    for (size_t i = 0; i < count; i++) {
        /* A console call takes no kernel time. */
        if (!event->console || spans[i].kind != MODEL_KERNEL)
            add_hop(adding, span.context.span, &spans[i]);
    }
}

static int otlp_add_detail(const struct adding *adding, struct error *error)
{
    const struct model_delivery *delivery = adding->delivery;
    size_t request = 0;

    for (size_t i = 0; i < delivery->span_count; i++) {
        const struct model_span *span = &delivery->spans[i];
        size_t count;

        if (span->event == UINT32_MAX) {
            add_hop(adding, adding->context.span, span);
            continue;
        }
        request = span->event;
        count = spans_of_request(delivery, i, request);
        otlp_add_request(adding, request++, span, count);
        i += count - 1;
        if (otlp_batch_give(adding->otlp->batch, error) != 0)
            return -1;
    }
    for (; request < delivery->event_count; request++) {
        otlp_add_request(adding, request, NULL, 0);
        if (otlp_batch_give(adding->otlp->batch, error) != 0)
            return -1;
    }
    return 0;
}

/* ---- deliveries --------------------------------------------------------- */

static void otlp_put_integer(struct buf *out, const char *key, int64_t number)
{
    if (number != MODEL_NONE)
        otlp_attribute_integer(out, key, number);
}

static void otlp_put_number(struct buf *out, const char *key, double number)
{
    if (isnan(number))
        return;
    if (fabs(number) < 0x1p53 && number == trunc(number))
        otlp_attribute_integer(out, key, (int64_t)number);
    else
        otlp_attribute_double(out, key, number);
}

static void append_attributes(struct buf *out, const struct model_delivery *delivery)
{
    otlp_attribute_text(out, "swingset.vat_id", delivery->vat_id);
    if (delivery->vat_name[0] != '\0')
        otlp_attribute_text(out, "swingset.vat_name", delivery->vat_name);
    otlp_put_integer(out, "swingset.crank_num", delivery->crank_num);
    otlp_put_integer(out, "swingset.delivery_num", delivery->delivery_num);
    otlp_put_integer(out, "swingset.block_height", delivery->block_height);
    otlp_attribute_bool(out, "swingset.replay", delivery->replay);
    otlp_attribute_text(out, "swingset.description", delivery->description);
    otlp_put_integer(out, "swingset.pipe_ns", delivery->pipe);
    otlp_put_integer(out, "swingset.worker_ns", delivery->worker);
    otlp_put_integer(out, "swingset.kernel_ns", delivery->kernel);
    otlp_put_integer(out, "swingset.unattributed_ns", delivery->unattributed);
    otlp_put_number(out, "swingset.computrons", delivery->compute);
    otlp_put_number(out, "swingset.instructions", delivery->instructions);
    otlp_put_number(out, "swingset.blockCost", delivery->block_cost);
    otlp_put_number(out, "swingset.gasBurnt", delivery->gas_burnt);
    if (delivery->overrun > 0)
        otlp_attribute_bool(out, "swingset.overrun", true);
    if (delivery->clock_changed)
        otlp_attribute_bool(out, "swingset.clock_changed", true);
}

static int otlp_add_spans(const struct adding *adding, const struct otlp_frame *frame,
                          struct error *error)
{
    const struct model_delivery *delivery = adding->delivery;
    bool named = delivery->method[0] != '\0';
    struct otlp_span span = {.context = adding->context,
                             .parent = frame->context.span,
                             .kind = OTLP_CONSUMER,
                             .from = delivery->start,
                             .to = adding->to,
                             .links = adding->otlp->causes,
                             .link_count = adding->otlp->cause_count,
                             .problem = delivery->status == MODEL_OK ? NULL : delivery->problem};
    struct buf name = {0};
    struct buf *out = otlp_batch_span(adding->otlp->batch);

    buf_printf(&name, "%s%s%s", delivery->kind, named ? " " : "", delivery->method);
    span.name = buf_string(&name);
    if (span.name == NULL)
        return error_memory(error, "spans");
    otlp_span_begin(out, &span);
    buf_free(&name);
    append_attributes(out, delivery);
    otlp_span_end(out);
    if (adding->detailed && otlp_add_detail(adding, error) != 0)
        return -1;
    return otlp_batch_give(adding->otlp->batch, error);
}

/* One resolve may settle several promises of a notify: link it once. */
static int add_cause(struct otlp *otlp, const struct link *link, struct error *error)
{
    const struct otlp_context cause = {{link->words[0], link->words[1]}, link->words[2]};
    struct otlp_context *causes;

    if (otlp->cause_count > 0 && otlp->causes[otlp->cause_count - 1].span == cause.span)
        return 0;
    causes =
        array_reserve(otlp->causes, &otlp->cause_capacity, otlp->cause_count + 1, sizeof *causes);
    if (causes == NULL)
        return error_memory(error, "links between spans");
    otlp->causes = causes;
    causes[otlp->cause_count++] = cause;
    return 0;
}

static int otlp_find_causes(struct otlp *otlp, const struct model_delivery *delivery,
                            struct error *error)
{
    struct link link;

    otlp->cause_count = 0;
    if (links_take(&otlp->links, delivery->message, &link) && add_cause(otlp, &link, error) != 0)
        return -1;
    for (size_t i = 0; i < delivery->promise_count; i++) {
        if (links_resolved(&otlp->links, delivery->promises[i], &link) &&
            add_cause(otlp, &link, error) != 0)
            return -1;
    }
    return 0;
}

/* A failed delivery is rolled back, with its sends and resolves. */
static int note_events(const struct adding *adding, struct error *error)
{
    const struct model_delivery *delivery = adding->delivery;

    for (size_t i = 0; i < delivery->event_count && delivery->status == MODEL_OK; i++) {
        struct otlp_context context =
            adding->detailed ? request_context(adding, i) : adding->context;

        const struct link link = {{context.trace[0], context.trace[1], context.span}};

        if (!delivery->replay &&
            links_add_event(&adding->otlp->links, &delivery->events[i], &link, error) != 0)
            return -1;
    }
    return 0;
}

int otlp_add(struct otlp *otlp, const struct model_delivery *delivery, bool chosen,
             struct error *error)
{
    struct adding adding = {.otlp = otlp, .delivery = delivery};
    const struct otlp_frame *frame;
    int index;

    if (otlp_find_causes(otlp, delivery, error) != 0)
        return -1;
    if (delivery->total == MODEL_NONE)
        return 0;
    index = otlp_frames_find(&otlp->frames, delivery, otlp->batch);
    if (index < 0)
        return error_memory(error, "spans");
    frame = &otlp->frames.at[index];
    adding.context = frame->context;
    adding.context.span = delivery_id(frame, delivery);
    adding.detailed = !delivery->clock_changed && delivery->total >= 0;
    /* If the clock was set back, the span ends where it began. */
    if (delivery->total < 0 || __builtin_add_overflow(delivery->start, delivery->total, &adding.to))
        adding.to = delivery->start;
    if (note_events(&adding, error) != 0)
        return -1;
    if (!chosen)
        return 0;
    otlp_frames_use(&otlp->frames, index, delivery->start, adding.to);
    return otlp_add_spans(&adding, frame, error);
}

/* ---- phases -------------------------------------------------------------- */

static uint64_t phase_id(uint64_t parent, const char *role, const struct phase_span *span)
{
    uint64_t digest = otlp_child_id(parent, role, (uint64_t)span->phase);

    digest = fnv1a_add(digest, span->vat_id, strlen(span->vat_id));
    return otlp_child_id(digest, "start", (uint64_t)span->start);
}

static struct otlp_context phase_context(struct otlp *otlp, const struct phase_span *span,
                                         int64_t end, uint64_t *parent)
{
    struct otlp_context context = {0};

    *parent = 0;
    /* Waiting for the next block belongs to no block. */
    if (span->phase != PHASE_IDLE &&
        otlp_frames_around(&otlp->frames, span->start, end, &context)) {
        *parent = context.span;
    } else {
        context.trace[0] = phase_id(FNV1A_START, "trace, first half", span);
        context.trace[1] = phase_id(FNV1A_START, "trace, second half", span);
    }
    context.span = phase_id(*parent, "phase", span);
    return context;
}

void otlp_add_phase(struct otlp *otlp, const struct phase_span *phase)
{
    struct otlp_span span = {.kind = OTLP_INTERNAL, .from = phase->start};
    struct buf name = {0}, *out;

    /* To the microsecond, as blocks and cranks are, so that they contain it. */
    if (phase->phase == PHASE_CRANK || phase->phase == PHASE_DELIVERY ||
        phase->phase == PHASE_REPLAY || phase->phase == PHASE_OTHER || phase->total < 0 ||
        __builtin_add_overflow(phase->start, phase->total / 1000 * 1000, &span.to))
        return;
    span.context = phase_context(otlp, phase, span.to, &span.parent);
    buf_printf(&name, "%s%s%s", phase_name(phase->phase), phase->name[0] != '\0' ? " " : "",
               phase->name);
    span.name = buf_string(&name);
    out = otlp_batch_span(otlp->batch);
    if (span.name == NULL) {
        otlp_batch_fail(otlp->batch);
        return;
    }
    otlp_span_begin(out, &span);
    buf_free(&name);
    if (phase->vat_id[0] != '\0')
        otlp_attribute_text(out, "swingset.vat_id", phase->vat_id);
    otlp_put_integer(out, "swingset.block_height", phase->block_height);
    otlp_attribute_integer(out, "swingset.own_ns", phase->own);
    otlp_put_number(out, "swingset.beans", phase->beans);
    otlp_put_number(out, "swingset.snapshot_bytes", phase->bytes);
    otlp_span_end(out);
}

/* ---- what else there is ------------------------------------------------- */

void otlp_frame(struct otlp *otlp, const struct model_frame *frame)
{
    otlp_frames_line(&otlp->frames, frame, otlp->batch);
}

void otlp_note(struct otlp *otlp, const struct model_note *note)
{
    if (note->kind == MODEL_NOTE_KERNEL)
        otlp_frames_end_all(&otlp->frames, otlp->batch);
    if (note->kind == MODEL_NOTE_CLOCK)
        otlp_frames_clock_changed(&otlp->frames);
}

int otlp_flush(struct otlp *otlp, struct error *error)
{
    return otlp_batch_flush(otlp->batch, error);
}

int otlp_close(struct otlp *otlp, struct error *error)
{
    int result;

    if (otlp == NULL)
        return 0;
    otlp_frames_end_all(&otlp->frames, otlp->batch);
    result = otlp_batch_close(otlp->batch, error);
    links_free(&otlp->links);
    free(otlp->causes);
    free(otlp);
    return result;
}
