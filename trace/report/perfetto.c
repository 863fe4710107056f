/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/report/perfetto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Processes of the trace: the vats', and from there on the traced ones. A pid may come twice, since
 * each sandbox has its own. */
enum { VATS = 1, FIRST_PROCESS };

struct perfetto_thread {
    uint32_t process, thread;
    int64_t time; /* of its last event: time does not go back on a track */
};

static struct chrome_track track_of(const struct perfetto_thread *thread)
{
    return (struct chrome_track){FIRST_PROCESS + thread->process, thread->thread};
}

/* ---- calls ---- */

static int begin(void *context, struct error *error)
{
    struct perfetto *const perfetto = context;
    const enum trace_clock_kind kind = perfetto->archive->clock.kind;

    if (kind != TRACE_CLOCK_TSC)
        return error_set(error, ERROR_INPUT,
                         "%s: its clock counts %s, and says nothing of when calls were, which "
                         "Perfetto shows",
                         perfetto->trace, trace_clock_names[kind]);
    if (output_file_check(perfetto->path, "the trace for Perfetto", perfetto->trace, error) != 0)
        return -1;
    return chrome_trace_open(&perfetto->out, perfetto->path, "the trace for Perfetto", error);
}

static void name_thread(struct perfetto *perfetto, const struct perfetto_thread *thread)
{
    char name[32];

    snprintf(name, sizeof name, "thread %" PRIu32, thread->thread);
    chrome_trace_name(&perfetto->out, track_of(thread), "process_name",
                      perfetto->archive->process_names[thread->process]);
    chrome_trace_name(&perfetto->out, track_of(thread), "thread_name", name);
}

static int on_thread(void *context, uint32_t process, uint32_t thread, struct error *error)
{
    struct perfetto *const perfetto = context;
    struct perfetto_thread *threads = perfetto->threads;
    size_t i = 0;

    if (perfetto->out.unwritten) {
        *error = perfetto->error;
        return -1;
    }
    while (i < perfetto->thread_count &&
           (threads[i].process != process || threads[i].thread != thread))
        i++;
    perfetto->current = i;
    if (i < perfetto->thread_count)
        return 0;
    threads = array_reserve(threads, &perfetto->thread_capacity, i + 1, sizeof *threads);
    if (threads == NULL)
        return error_memory(error, "a trace");
    perfetto->threads = threads;
    threads[perfetto->thread_count++] = (struct perfetto_thread){
        .process = process, .thread = thread, .time = perfetto->archive->clock.first.mono};
    name_thread(perfetto, &threads[i]);
    return 0;
}

static const char *name_of(const struct perfetto *perfetto, uint32_t function)
{
    return function >= 1 && function <= perfetto->archive->function_count
               ? perfetto->archive->functions[function - 1].name
               : "?";
}

/* The thread, at the time of these ticks, of which only the lowest 48 bits count. */
static struct perfetto_thread *thread_at(struct perfetto *perfetto, uint64_t ticks)
{
    const struct trace_clock *const clock = &perfetto->archive->clock;
    struct perfetto_thread *const thread = &perfetto->threads[perfetto->current];
    const uint64_t passed = (ticks - clock->first.ticks) & TRACE_TIME_MASK;
    int64_t time;

    if (ticks == 0 || passed > TRACE_TIME_MASK / 2)
        return thread;
    time = trace_clock_mono(clock, clock->first.ticks + passed);
    thread->time = time > thread->time ? time : thread->time;
    return thread;
}

/* A failure is reported when the next thread's calls come, or at the end. */
static void write_if_much(struct perfetto *perfetto)
{
    if (!perfetto->out.unwritten)
        (void)chrome_trace_write(&perfetto->out, &perfetto->error);
}

static void on_call(void *context, uint32_t function, uint64_t ticks)
{
    struct perfetto *const perfetto = context;
    const struct perfetto_thread *const thread = thread_at(perfetto, ticks);

    chrome_trace_open_span(&perfetto->out, track_of(thread), "function",
                           name_of(perfetto, function), thread->time, CHROME_TRACE_NO_LENGTH);
    write_if_much(perfetto);
}

static void on_return(void *context, uint32_t function, uint64_t ticks)
{
    struct perfetto *const perfetto = context;
    const struct perfetto_thread *const thread = thread_at(perfetto, ticks);

    chrome_trace_close_span(&perfetto->out, track_of(thread), name_of(perfetto, function),
                            thread->time);
    write_if_much(perfetto);
}

void perfetto_open(struct perfetto *perfetto, const char *path, const char *trace,
                   const struct archive *archive)
{
    *perfetto = (struct perfetto){.path = path, .trace = trace, .archive = archive};
    perfetto->out.file.fd = -1;
    perfetto->listener = (struct archive_listener){
        .calls = {.context = perfetto, .begun = on_call, .ended = on_return},
        .begin = begin,
        .thread = on_thread,
    };
}

/* ---- deliveries ---- */

static bool is_of_vat(const struct archive_delivery *a, const struct archive_delivery *b)
{
    return strcmp(a->vat_id, b->vat_id) == 0;
}

static void put_delivery(struct perfetto *perfetto, struct chrome_track track,
                         const struct archive_delivery *delivery, int64_t *time)
{
    const int64_t from = delivery->begin > *time ? delivery->begin : *time;
    const int64_t to = delivery->end > from ? delivery->end : from;
    char name[160];

    snprintf(name, sizeof name, "%.100s #%" PRId64, delivery->method, delivery->delivery_num);
    chrome_trace_open_span(&perfetto->out, track, "delivery", name, from, to - from);
    chrome_trace_close_span(&perfetto->out, track, name, to);
    *time = to;
    write_if_much(perfetto);
}

/* All deliveries of the vat whose first one this is. */
static void put_vat(struct perfetto *perfetto, uint32_t number, size_t first)
{
    const struct archive *const archive = perfetto->archive;
    const struct archive_delivery *const delivery = &archive->deliveries[first];
    const struct chrome_track track = {VATS, number};
    int64_t time = INT64_MIN;

    chrome_trace_name(&perfetto->out, track, "thread_name", delivery->vat_id);
    for (size_t i = first; i < archive->delivery_count; i++)
        if (is_of_vat(&archive->deliveries[i], delivery))
            put_delivery(perfetto, track, &archive->deliveries[i], &time);
}

static void put_deliveries(struct perfetto *perfetto)
{
    const struct archive *const archive = perfetto->archive;
    uint32_t vats = 0;

    if (archive->delivery_count > 0)
        chrome_trace_name(&perfetto->out, (struct chrome_track){VATS, 0}, "process_name", "vats");
    for (size_t i = 0; i < archive->delivery_count; i++) {
        size_t first = 0;

        while (!is_of_vat(&archive->deliveries[first], &archive->deliveries[i]))
            first++;
        if (first == i)
            put_vat(perfetto, ++vats, i);
    }
}

int perfetto_close(struct perfetto *perfetto, int result, struct error *error)
{
    if (result == 0) {
        put_deliveries(perfetto);
        if (perfetto->out.unwritten) {
            *error = perfetto->error;
            result = -1;
        } else {
            result = chrome_trace_finish(&perfetto->out, error);
        }
    }
    chrome_trace_free(&perfetto->out);
    free(perfetto->threads);
    return result;
}
