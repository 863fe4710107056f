/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/spans.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/json/decimal.h"
#include "slog/model/fnv1a.h"

enum { SECONDS_TO_MICROSECONDS = 6 };

static int stamps_reserve(struct stamps *stamps, struct error *error)
{
    int64_t *at = array_reserve(stamps->at, &stamps->capacity, stamps->count + 1, sizeof *at);

    if (at == NULL)
        return error_memory(error, "timestamps");
    stamps->at = at;
    return 0;
}

static inline int stamps_append(struct stamps *stamps, int64_t stamp, struct error *error)
{
    if (stamps->count == stamps->capacity && stamps_reserve(stamps, error) != 0)
        return -1;
    stamps->at[stamps->count++] = stamp;
    return 0;
}

/* The usual form of a number in an array: no blanks, no exponent. */
DECIMAL_INLINE bool next_plain(struct scan_cursor *cursor, int scale, int64_t *number)
{
    const char *after;

    if (*cursor->at != '[' && *cursor->at != ',')
        return false;
    after = decimal_read(cursor->at + 1, cursor->end, scale, number);
    if (after == NULL || after == cursor->end || (*after != ',' && *after != ']'))
        return false;
    cursor->at = after;
    return true;
}

DECIMAL_INLINE enum scan_step next_stamp(struct scan_cursor *cursor, int scale, int64_t *number)
{
    struct scan_span element;
    enum scan_step step;

    if (next_plain(cursor, scale, number))
        return SCAN_FOUND;
    step = scan_element(cursor, &element);
    return step == SCAN_FOUND && !scan_decimal(element, scale, number) ? SCAN_BAD : step;
}

/*
 * Reads numbers times 10^scale times unit. An invalid one empties the list. Inlined, so that scale
 * and unit are constants in the loop.
 */
DECIMAL_INLINE int read_stamps(struct scan_span array, int scale, int64_t unit,
                               struct stamps *stamps, struct error *error)
{
    struct scan_cursor cursor;
    enum scan_step step;
    int64_t number = 0;

    if (!scan_open(array, '[', &cursor))
        return 0;
    while ((step = next_stamp(&cursor, scale, &number)) != SCAN_END) {
        if (step == SCAN_BAD || number < 0 || number > INT64_MAX / unit / 2) {
            stamps->count = 0;
            return 0;
        }
        if (stamps_append(stamps, number * unit, error) != 0)
            return -1;
    }
    return 0;
}

static void read_double(struct scan_span value, double *number)
{
    if (value.at != NULL && !scan_double(value, number))
        *number = NAN;
}

static void outcome_read_cpu(struct scan_span cpu, struct outcome *outcome)
{
    read_double(scan_get(cpu, "user"), &outcome->cpu_user);
    read_double(scan_get(cpu, "sys"), &outcome->cpu_sys);
    read_double(scan_get(cpu, "nivcsw"), &outcome->switched_out);
}

static void read_sizes(struct scan_span key, struct scan_span value, struct outcome *outcome)
{
    if (scan_is(key, "currentHeapCount"))
        read_double(value, &outcome->heap_slots);
    else if (scan_is(key, "allocate"))
        read_double(value, &outcome->allocated);
    else if (scan_is(key, "bytesRead"))
        read_double(value, &outcome->bytes_read);
    else if (scan_is(key, "bytesWritten"))
        read_double(value, &outcome->bytes_written);
}

static int outcome_read_meter(struct scan_span meter, struct outcome *outcome, struct error *error)
{
    struct scan_span key, value;
    struct scan_cursor cursor;

    if (!scan_open(meter, '{', &cursor))
        return 0;
    outcome->metered = true;
    while (scan_member(&cursor, &key, &value) == SCAN_FOUND) {
        int result = 0;

        if (scan_is(key, "timestamps"))
            result = read_stamps(value, SECONDS_TO_MICROSECONDS, 1000, &outcome->timestamps, error);
        else if (scan_is(key, "monotimes"))
            result = read_stamps(value, 0, 1, &outcome->monotimes, error);
        else if (scan_is(key, "clientTimestamps"))
            result = read_stamps(value, SECONDS_TO_MICROSECONDS, 1000, &outcome->client_timestamps,
                                 error);
        else if (scan_is(key, "clientMonotimes"))
            result = read_stamps(value, 0, 1, &outcome->client_monotimes, error);
        else if (scan_is(key, "compute"))
            read_double(value, &outcome->compute);
        else if (scan_is(key, "instructions"))
            read_double(value, &outcome->instructions);
        else if (scan_is(key, "blockCost"))
            read_double(value, &outcome->block_cost);
        else if (scan_is(key, "gasBurnt"))
            read_double(value, &outcome->gas_burnt);
        else if (scan_is(key, "cpu"))
            outcome_read_cpu(value, outcome);
        else
            read_sizes(key, value, outcome);
        if (result != 0)
            return -1;
    }
    return 0;
}

static struct stamps emptied(struct stamps stamps)
{
    stamps.count = 0;
    return stamps;
}

static void outcome_reset(struct outcome *outcome)
{
    *outcome = (struct outcome){.compute = NAN,
                                .instructions = NAN,
                                .block_cost = NAN,
                                .gas_burnt = NAN,
                                .bytes_read = NAN,
                                .bytes_written = NAN,
                                .heap_slots = NAN,
                                .allocated = NAN,
                                .cpu_user = NAN,
                                .cpu_sys = NAN,
                                .switched_out = NAN,
                                .timestamps = emptied(outcome->timestamps),
                                .monotimes = emptied(outcome->monotimes),
                                .client_timestamps = emptied(outcome->client_timestamps),
                                .client_monotimes = emptied(outcome->client_monotimes)};
}

int outcome_read(struct scan_span dr, struct outcome *outcome, struct error *error)
{
    struct scan_span status, result, meter;
    struct scan_cursor cursor;

    outcome_reset(outcome);
    if (!scan_open(dr, '[', &cursor) || scan_element(&cursor, &status) != SCAN_FOUND)
        return 0;
    outcome->ok = scan_is(scan_string(status), "ok");
    outcome->result_digest = fnv1a_add(FNV1A_START, status.at, status.length);
    if (scan_element(&cursor, &result) != SCAN_FOUND)
        return 0;
    outcome->result_digest = fnv1a_add(outcome->result_digest, result.at, result.length);
    if (!outcome->ok)
        outcome->problem = scan_string(result);
    if (scan_element(&cursor, &meter) != SCAN_FOUND)
        return 0;
    return outcome_read_meter(meter, outcome, error);
}

void outcome_fill(const struct outcome *outcome, struct model_delivery *delivery)
{
    delivery->status = outcome->ok ? MODEL_OK : MODEL_ERROR;
    delivery->result_digest = outcome->result_digest;
    delivery->compute = outcome->compute;
    delivery->instructions = outcome->instructions;
    delivery->block_cost = outcome->block_cost;
    delivery->gas_burnt = outcome->gas_burnt;
    delivery->cpu_user = outcome->cpu_user;
    delivery->cpu_sys = outcome->cpu_sys;
    delivery->switched_out = outcome->switched_out;
    delivery->gas = NAN;
    delivery->heap_slots = outcome->heap_slots;
    delivery->allocated = outcome->allocated;
}

void outcome_free(struct outcome *outcome)
{
    free(outcome->timestamps.at);
    free(outcome->monotimes.at);
    free(outcome->client_timestamps.at);
    free(outcome->client_monotimes.at);
    *outcome = (struct outcome){0};
}

/* Reserves all that a delivery can need, so that adding cannot fail. */
static int reserve_spans(struct spans *spans, size_t count, struct error *error)
{
    struct model_span *at = array_reserve(spans->at, &spans->capacity, count, sizeof *at);

    if (at == NULL)
        return error_memory(error, "a delivery's spans");
    spans->at = at;
    return 0;
}

/* A span that ends before it begins shows that the clock was set. */
static void add_span_of_kind(struct spans *spans, enum model_span_kind kind, int64_t from,
                             int64_t to, bool spoiled)
{
    spans->at[spans->count++] = (struct model_span){
        .kind = kind, .spoiled = spoiled || to < from, .event = UINT32_MAX, .from = from, .to = to};
}

static void add_of_event(struct spans *spans, enum model_span_kind kind, size_t event, int64_t from,
                         int64_t to, bool spoiled)
{
    add_span_of_kind(spans, kind, from, to, spoiled);
    spans->at[spans->count - 1].event = (uint32_t)event;
}

static size_t expected_stamps(const struct moments *moments)
{
    return 2 + 2 * moments->event_count;
}

static enum model_coverage coverage_of(const struct moments *moments)
{
    size_t expected = expected_stamps(moments);
    bool maybe_capped = moments->capped && moments->stamp_count == SPANS_CAP;

    if (moments->stamp_count == 0)
        return MODEL_BARE;
    /*
     * In a replay, console calls have stamps but no lines, so the full number may be a
     * coincidence.
     */
    if (moments->stamp_count == expected && !(moments->replay && maybe_capped))
        return MODEL_FULL;
    return moments->stamp_count < expected && !moments->replay ? MODEL_CUT : MODEL_LOOSE;
}

static int find_overrun(const struct moments *moments, enum model_coverage coverage)
{
    bool maybe_capped = moments->capped && moments->stamp_count == SPANS_CAP;

    if (coverage == MODEL_CUT)
        return 1;
    if (coverage != MODEL_LOOSE)
        return 0;
    if (moments->stamp_count < expected_stamps(moments))
        return 1;
    return maybe_capped ? -1 : 0;
}

/* The spans of request `i`, whose answer the worker received at `received`. */
static void spans_add_request(struct spans *spans, const struct moments *moments, size_t i,
                              int64_t sent, int64_t received, bool changed)
{
    const struct model_event *event = &moments->events[i];
    bool within = event->changed_within && !moments->steady;

    add_of_event(spans, MODEL_UP, i, sent, event->arrived, changed);
    if (event->answered == MODEL_NONE) {
        add_of_event(spans, MODEL_UNKNOWN, i, event->arrived, received, within);
        return;
    }
    add_of_event(spans, MODEL_KERNEL, i, event->arrived, event->answered, within);
    add_of_event(spans, MODEL_DOWN, i, event->answered, received, false);
}

/*
 * Stamp 2i is when the worker received the delivery or the answer before request i, stamp 2i+1
 * when it sent request i. A clock change between two moments of the kernel spoils the worker's
 * span between them and the pipe's on both sides.
 */
static void add_matched(struct spans *spans, const struct moments *moments)
{
    const int64_t *stamps = moments->stamps;
    size_t count = moments->stamp_count, at = 0;
    bool changed;

    for (size_t i = 0; i < moments->event_count && at + 1 < count; i++) {
        changed = moments->events[i].changed_before && !moments->steady;
        spans->at[spans->count - 1].spoiled |= changed;
        add_span_of_kind(spans, MODEL_WORKER, stamps[at], stamps[at + 1], changed);
        at++;
        if (at + 1 == count)
            break;
        spans_add_request(spans, moments, i, stamps[at], stamps[at + 1], changed);
        at++;
    }
    changed = moments->changed_before_end && !moments->steady;
    if (count < expected_stamps(moments)) {
        add_span_of_kind(spans, MODEL_UNKNOWN, stamps[at], moments->returned, changed);
        return;
    }
    spans->at[spans->count - 1].spoiled |= changed;
    add_span_of_kind(spans, MODEL_WORKER, stamps[at], stamps[at + 1], changed);
    add_span_of_kind(spans, MODEL_RETURN, stamps[at + 1], moments->frame_returned, changed);
}

/* Without knowing the requests: work and waits alternate, and work is last. */
static void add_unmatched(struct spans *spans, const struct moments *moments, bool complete)
{
    const int64_t *stamps = moments->stamps;
    size_t last = moments->stamp_count - 1;

    for (size_t i = 0; i < last; i++)
        add_span_of_kind(spans, i % 2 == 0 ? MODEL_WORKER : MODEL_WAIT, stamps[i], stamps[i + 1],
                         false);
    add_span_of_kind(spans, complete ? MODEL_RETURN : MODEL_UNKNOWN, stamps[last],
                     moments->returned, false);
}

/* Unsigned, since invented moments of a hostile file may overflow. */
static int64_t sum_spans(const struct spans *spans, unsigned kinds)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < spans->count; i++) {
        if ((kinds >> spans->at[i].kind & 1) != 0)
            sum += (uint64_t)spans->at[i].to - (uint64_t)spans->at[i].from;
    }
    return (int64_t)sum;
}

static int64_t less(int64_t whole, int64_t part)
{
    return (int64_t)((uint64_t)whole - (uint64_t)part);
}

static bool any_spoiled(const struct spans *spans)
{
    for (size_t i = 0; i < spans->count; i++) {
        if (spans->at[i].spoiled)
            return true;
    }
    return false;
}

/* Without matching stamps only the worker's time is exact. */
static void fill_sums(const struct spans *spans, const struct moments *moments,
                      struct model_delivery *delivery)
{
    enum { PIPE = 1 << MODEL_SEND | 1 << MODEL_UP | 1 << MODEL_DOWN | 1 << MODEL_RETURN };

    delivery->pipe = delivery->worker = delivery->kernel = MODEL_NONE;
    delivery->unattributed = delivery->total;
    if (delivery->coverage == MODEL_BARE)
        return;
    delivery->worker = sum_spans(spans, 1u << MODEL_WORKER);
    delivery->unattributed = less(delivery->total, delivery->worker);
    if (delivery->coverage == MODEL_LOOSE)
        return;
    delivery->pipe = sum_spans(spans, PIPE);
    delivery->kernel = sum_spans(spans, 1u << MODEL_KERNEL);
    /* Between its lines and its frames, which no span shows. */
    delivery->kernel =
        (int64_t)((uint64_t)delivery->kernel + (uint64_t)less(moments->frame_sent, moments->sent) +
                  (uint64_t)less(moments->returned, moments->frame_returned));
    delivery->unattributed = less(less(delivery->unattributed, delivery->pipe), delivery->kernel);
}

int spans_build(struct spans *spans, const struct moments *moments, struct model_delivery *delivery,
                struct error *error)
{
    spans->count = 0;
    if (reserve_spans(spans, 3 + 4 * moments->event_count + moments->stamp_count, error) != 0)
        return -1;
    delivery->coverage = coverage_of(moments);
    delivery->overrun = find_overrun(moments, delivery->coverage);
    delivery->total = less(moments->returned, moments->sent);
    if (delivery->coverage != MODEL_BARE)
        add_span_of_kind(spans, MODEL_SEND, moments->frame_sent, moments->stamps[0], false);
    if (delivery->coverage == MODEL_LOOSE)
        add_unmatched(spans, moments, moments->stamp_count % 2 == 0 && delivery->overrun == 0);
    else if (delivery->coverage != MODEL_BARE)
        add_matched(spans, moments);
    fill_sums(spans, moments, delivery);
    delivery->spans = spans->at;
    delivery->span_count = spans->count;
    delivery->clock_changed = any_spoiled(spans);
    return 0;
}

void spans_free(struct spans *spans)
{
    free(spans->at);
    *spans = (struct spans){0};
}

/*
 * Nanoseconds by which the clocks of lines and frames may differ: a process's own clock does not
 * follow corrections of the system's.
 */
enum { DRIFT = 5000000 };

/*
 * True if the moments are in order: the client sends, the worker receives and sends, the client
 * receives, and so on; the last frame goes to the client.
 */
static bool in_order(const int64_t *client, const int64_t *worker, size_t count)
{
    for (size_t i = 0; i + 1 < count; i += 2) {
        if (client[i] > worker[i] || worker[i] > worker[i + 1] || worker[i + 1] > client[i + 1])
            return false;
        if (i > 0 && client[i - 1] > client[i])
            return false;
    }
    return true;
}

static bool fit(const struct outcome *outcome, const struct moments *moments)
{
    size_t count = outcome->client_monotimes.count;

    return count == 2 + 2 * moments->event_count && count == outcome->client_timestamps.count &&
           count == outcome->monotimes.count &&
           in_order(outcome->client_monotimes.at, outcome->monotimes.at, count);
}

bool client_times_use(struct outcome *outcome, struct model_event *events, struct moments *moments)
{
    const int64_t *client = outcome->client_monotimes.at;
    int64_t *worker = outcome->monotimes.at, shift;
    size_t last = outcome->client_monotimes.count - 1;

    if (moments->steady || !fit(outcome, moments))
        return false;
    shift = outcome->client_timestamps.at[0] - client[0];
    if (client[0] + shift < moments->sent - DRIFT ||
        client[last] + shift > moments->returned + DRIFT)
        return false;
    for (size_t i = 0; i <= last; i++)
        worker[i] += shift;
    for (size_t i = 0; i < moments->event_count; i++) {
        events[i].arrived = client[1 + 2 * i] + shift;
        events[i].answered = client[2 + 2 * i] + shift;
    }
    moments->stamps = worker;
    moments->frame_sent = client[0] + shift;
    moments->frame_returned = client[last] + shift;
    if (moments->frame_sent < moments->sent)
        moments->frame_sent = moments->sent;
    if (moments->frame_returned > moments->returned)
        moments->frame_returned = moments->returned;
    return true;
}

/* Both ends of each frame are on one clock, which is never set. */
static int64_t sum_client_pipe(const struct outcome *outcome)
{
    const int64_t *client = outcome->client_monotimes.at, *worker = outcome->monotimes.at;
    int64_t pipe = 0;

    for (size_t i = 0; i < outcome->client_monotimes.count; i++)
        pipe += i % 2 == 0 ? less(worker[i], client[i]) : less(client[i], worker[i]);
    return pipe;
}

int spans_build_by(struct spans *spans, struct outcome *outcome, struct model_event *events,
                   struct moments *moments, bool by_client, struct model_delivery *delivery,
                   struct error *error)
{
    const bool fits = !moments->steady && fit(outcome, moments);

    delivery->slog_pipe = delivery->client_pipe = 0;
    if (spans_build(spans, moments, delivery, error) != 0)
        return -1;
    if (!fits)
        return 0;
    delivery->slog_pipe = delivery->pipe;
    delivery->client_pipe = sum_client_pipe(outcome);
    return by_client && client_times_use(outcome, events, moments)
               ? spans_build(spans, moments, delivery, error)
               : 0;
}
