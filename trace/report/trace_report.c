/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/report/trace_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "base/profile/profile_write.h"
#include "base/text/format.h"

const char *trace_report_name(const struct trace_report *report, uint32_t number)
{
    if (number >= CALL_TREE_GROUPS) {
        const uint32_t group = number - CALL_TREE_GROUPS;

        return group < report->delivery_count ? report->deliveries[group].name : "?";
    }
    if (number == 0 || number > report->function_count || report->functions == NULL)
        return "?";
    return report->functions[number - 1].name;
}

/* NULL for an invalid number. */
static const struct traced_function *trace_report_function(const struct trace_report *report,
                                                           uint32_t number)
{
    return number >= 1 && number <= report->function_count && report->functions != NULL
               ? &report->functions[number - 1]
               : NULL;
}

/* The function's source file, or without a symbol the file with its address. */
static void put_where(struct buf *out, const struct traced_function *function)
{
    const char *module;

    if (function == NULL)
        return;
    if (function->source != NULL)
        buf_printf(out, " (%s:%d)", function->source, function->line);
    if (strncmp(function->name, "0x", 2) != 0)
        return;
    module = strrchr(function->module, '/');
    buf_printf(out, " in %s", module != NULL ? module + 1 : function->module);
    if (function->build_id[0] != '\0')
        buf_printf(out, ", build-id %s", function->build_id);
}

/* The unit of the clock; NULL: time. */
static const char *unit_of(const struct trace_report *report)
{
    return report->clock.kind != TRACE_CLOCK_TSC ? trace_clock_names[report->clock.kind] : NULL;
}

static double microseconds(const struct trace_report *report, uint64_t ticks)
{
    return trace_clock_duration(&report->clock, ticks) / 1e3;
}

static void put_row(struct buf *out, const struct trace_report *report, const struct call_sum *sum,
                    uint64_t whole)
{
    const bool counted = unit_of(report) != NULL;
    const double self = counted ? (double)sum->self : microseconds(report, sum->self);
    const double total = counted ? (double)sum->total : microseconds(report, sum->total);
    const int decimals = counted ? 0 : 3;
    const double scale = counted ? 1 : 1e3;

    buf_printf(out, "%12" PRIu64 " %14.*f %6.1f %% %14.*f %11.3f  %s", sum->calls, decimals,
               self / scale, whole > 0 ? 100 * (double)sum->self / (double)whole : 0, decimals,
               total / scale, sum->calls > 0 ? self / (double)sum->calls : 0,
               trace_report_name(report, sum->function));
    put_where(out, trace_report_function(report, sum->function));
    buf_append_byte(out, '\n');
}

int trace_report_put_table(struct buf *out, const struct trace_report *report, size_t top,
                           struct error *error)
{
    struct call_sum *sums;
    uint64_t whole = 0;
    size_t count;

    if (call_tree_sums(report->tree, 0, &sums, &count, error) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        whole += sums[i].self;
    if (unit_of(report) != NULL)
        buf_printf(out, "%12s %14s %8s %14s %11s  %s\n", "calls", unit_of(report), "", "total",
                   "each", "function");
    else
        buf_printf(out, "%12s %14s %8s %14s %11s  %s\n", "calls", "self ms", "", "total ms",
                   "self µs/call ", "function");
    for (size_t i = 0; i < count && (top == 0 || i < top); i++)
        put_row(out, report, &sums[i], whole);
    if (top != 0 && count > top)
        buf_printf(out, "%12s %zu %s more\n", "…", count - top,
                   format_plural(count - top, "function", "functions"));
    free(sums);
    return buf_failed(out) ? error_memory(error, "a report") : 0;
}

static void put_json_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    json_text_string(out, text, strlen(text));
}

static void put_traced_function(struct buf *out, const struct traced_function *function)
{
    put_json_text(out, "module", function->module);
    if (function->build_id[0] != '\0')
        put_json_text(out, "buildId", function->build_id);
    buf_printf(out, ",\"address\":%" PRIu64, function->address);
    if (function->source != NULL) {
        put_json_text(out, "file", function->source);
        buf_printf(out, ",\"line\":%d", function->line);
    }
    if (function->inlined != NULL) {
        buf_append_string(out, ",\"inlined\":");
        json_text_lines(out, function->inlined);
    }
}

static void put_times(struct buf *out, const struct trace_report *report,
                      const struct call_sum *sum)
{
    buf_printf(out, ",\"calls\":%" PRIu64, sum->calls);
    if (unit_of(report) != NULL)
        buf_printf(out, ",\"clock\":\"%s\",\"self\":%" PRIu64 ",\"total\":%" PRIu64 "}\n",
                   unit_of(report), sum->self, sum->total);
    else
        buf_printf(out, ",\"self\":%.9f,\"total\":%.9f}\n", microseconds(report, sum->self) / 1e6,
                   microseconds(report, sum->total) / 1e6);
}

static int put_sums(struct buf *out, const struct trace_report *report, size_t root,
                    struct error *error)
{
    struct call_sum *sums;
    size_t count;

    if (call_tree_sums(report->tree, root, &sums, &count, error) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct call_sum *const sum = &sums[i];
        const struct traced_function *const function = trace_report_function(report, sum->function);

        buf_append_string(out, "{\"kind\":\"native\"");
        if (root != 0)
            put_json_text(out, "delivery",
                          trace_report_name(report, report->tree->nodes[root].function));
        put_json_text(out, "function", trace_report_name(report, sum->function));
        if (function != NULL)
            put_traced_function(out, function);
        put_times(out, report, sum);
    }
    free(sums);
    return 0;
}

int trace_report_put_json(struct buf *out, const struct trace_report *report, struct error *error)
{
    if (report->delivery_count == 0 && put_sums(out, report, 0, error) != 0)
        return -1;
    for (size_t i = 1; i < report->tree->count; i++)
        if (report->tree->nodes[i].function >= CALL_TREE_GROUPS &&
            put_sums(out, report, i, error) != 0)
            return -1;
    return buf_failed(out) ? error_memory(error, "a report") : 0;
}

/* Processes of the output: first the vats', then the traced ones. Not pids, which may repeat,
 * because each sandbox has its own. */
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

static int begin_perfetto(void *context, struct error *error)
{
    struct perfetto *const perfetto = context;
    const enum trace_clock_kind kind = perfetto->archive->clock.kind;

    if (kind != TRACE_CLOCK_TSC)
        return error_set(error, ERROR_INPUT,
                         "%s: recorded with a clock of %s; Perfetto needs times: record with "
                         "the default clock",
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

static const char *report_name(const struct perfetto *perfetto, uint32_t function)
{
    return function >= 1 && function <= perfetto->archive->function_count
               ? perfetto->archive->functions[function - 1].name
               : "?";
}

/* Advances the thread to these ticks, of which only the lowest 48 bits count. */
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

/* A failure is reported with the next thread, or at the end. */
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
                           report_name(perfetto, function), thread->time, CHROME_TRACE_NO_LENGTH);
    write_if_much(perfetto);
}

static void on_return(void *context, uint32_t function, uint64_t ticks)
{
    struct perfetto *const perfetto = context;
    const struct perfetto_thread *const thread = thread_at(perfetto, ticks);

    chrome_trace_close_span(&perfetto->out, track_of(thread), report_name(perfetto, function),
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
        .begin = begin_perfetto,
        .thread = on_thread,
    };
}

/* ---- deliveries ---- */

static bool is_of_vat(const struct archive_delivery *a, const struct archive_delivery *b)
{
    return strcmp(a->vat_id, b->vat_id) == 0;
}

static void put_chrome_delivery(struct perfetto *perfetto, struct chrome_track track,
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

/* All deliveries of the vat of this one, its first. */
static void put_vat(struct perfetto *perfetto, uint32_t number, size_t first)
{
    const struct archive *const archive = perfetto->archive;
    const struct archive_delivery *const delivery = &archive->deliveries[first];
    const struct chrome_track track = {VATS, number};
    int64_t time = INT64_MIN;

    chrome_trace_name(&perfetto->out, track, "thread_name", delivery->vat_id);
    for (size_t i = first; i < archive->delivery_count; i++)
        if (is_of_vat(&archive->deliveries[i], delivery))
            put_chrome_delivery(perfetto, track, &archive->deliveries[i], &time);
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

/* A trace's calls as a profile: of all of them, whose deliveries are functions that call the
 * others, or of one delivery. */
struct making {
    const struct trace_report *report;
    struct profile profile;
    uint32_t *functions; /* by number: its index in the profile and 1 */
    uint32_t *nodes;     /* by node of the tree: its node in the profile */
    struct profile_span *spans;
};

static int64_t profile_cost(const struct trace_report *report, uint64_t ticks)
{
    return (int64_t)(trace_clock_duration(&report->clock, ticks) + 0.5);
}

static bool start(struct making *making, const struct trace_report *report)
{
    *making = (struct making){
        .report = report,
        .functions = calloc(CALL_TREE_GROUPS + report->delivery_count, sizeof *making->functions),
        .nodes = calloc(report->tree->count, sizeof *making->nodes),
    };
    return making->functions != NULL && making->nodes != NULL;
}

static void finish(struct making *making)
{
    profile_close(&making->profile);
    free(making->functions);
    free(making->nodes);
    free(making->spans);
}

static bool open_profile(struct making *making)
{
    return profile_init(&making->profile, making->report->clock.kind == TRACE_CLOCK_COMPUTRONS
                                              ? PROFILE_COMPUTRONS
                                              : PROFILE_NANOSECONDS);
}

static const char *file_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static bool add_profile_function(struct making *making, uint32_t number)
{
    const struct traced_function *const of = trace_report_function(making->report, number);
    struct profile_function *const function = profile_add_function(&making->profile);

    if (function == NULL)
        return false;
    *function = (struct profile_function){
        .name = trace_report_name(making->report, number),
        .module = number < CALL_TREE_GROUPS ? "?" : NULL,
    };
    making->functions[number] = (uint32_t)making->profile.function_count;
    if (of == NULL)
        return true;
    function->module = file_name(of->module);
    function->build_id = of->build_id[0] != '\0' ? of->build_id : NULL;
    function->file = of->source;
    function->line = of->line;
    function->inlined = of->inlined;
    return true;
}

/* Nodes come after their callers. */
static bool add_profile_node(struct making *making, size_t number, size_t caller)
{
    const struct call_node *const from = &making->report->tree->nodes[number];
    struct profile_node *node;
    size_t added;

    if (making->functions[from->function] == 0 && !add_profile_function(making, from->function))
        return false;
    added = profile_add_node(&making->profile, caller, making->functions[from->function] - 1);
    if (added == 0)
        return false;
    making->nodes[number] = (uint32_t)added;
    node = &making->profile.nodes[added];
    node->calls = (int64_t)from->calls;
    node->self.of[0] = profile_cost(making->report, from->self);
    return true;
}

/* ---- all calls ---- */

static bool add_all(struct making *making)
{
    const struct call_tree *const tree = making->report->tree;

    for (size_t i = 1; i < tree->count; i++)
        if (!add_profile_node(making, i, making->nodes[tree->nodes[i].parent]))
            return false;
    return true;
}

static int make_all(struct making *making, const struct trace_report *report, struct error *error)
{
    if (!start(making, report) || !open_profile(making) || !add_all(making))
        return error_memory(error, "a report");
    return profile_sum(&making->profile, error);
}

int trace_report_put_folded(struct buf *out, const struct trace_report *report, struct error *error)
{
    struct making making;
    int result = make_all(&making, report, error);

    if (result == 0)
        result = profile_put_folded(out, &making.profile, NULL, PROFILE_FRAME_NAME, error);
    finish(&making);
    return result;
}

int trace_report_put_callgrind(struct buf *out, const struct trace_report *report,
                               struct error *error)
{
    const enum trace_clock_kind clock = report->clock.kind;
    struct making making;
    int result = make_all(&making, report, error);

    if (result == 0)
        result = profile_put_callgrind(
            out, &making.profile,
            clock == TRACE_CLOCK_TSC ? "Nanoseconds" : trace_clock_names[clock], error);
    finish(&making);
    return result;
}

/* ---- deliveries ---- */

/* Sorts the nodes by delivery: those of delivery i end at ends[i]. False without memory. */
static bool sort_nodes(const struct trace_report *report, uint32_t *nodes, size_t *ends)
{
    const struct call_tree *const tree = report->tree;
    uint32_t *const group_of = calloc(tree->count, sizeof *group_of); /* from 1 on; 0: none */
    size_t sum = 0;

    if (group_of == NULL)
        return false;
    for (size_t i = 1; i < tree->count; i++) {
        const uint32_t function = tree->nodes[i].function;

        group_of[i] = function >= CALL_TREE_GROUPS ? function - CALL_TREE_GROUPS + 1
                                                   : group_of[tree->nodes[i].parent];
        if (function < CALL_TREE_GROUPS && group_of[i] > 0)
            ends[group_of[i] - 1]++;
    }
    for (size_t i = 0; i < report->delivery_count; i++) {
        sum += ends[i];
        ends[i] = sum - ends[i];
    }
    for (size_t i = 1; i < tree->count; i++)
        if (tree->nodes[i].function < CALL_TREE_GROUPS && group_of[i] > 0)
            nodes[ends[group_of[i] - 1]++] = (uint32_t)i;
    free(group_of);
    return true;
}

static bool add_spans(struct making *making, size_t delivery)
{
    const struct call_spans *const spans = making->report->spans;
    const struct trace_clock *const clock = &making->report->clock;
    const uint64_t begin = trace_clock_ticks(clock, making->report->deliveries[delivery].begin);
    const struct call_span_list *const list =
        spans != NULL && delivery < spans->list_count ? &spans->lists[delivery] : NULL;
    const size_t count = list != NULL ? list->count : 0;

    free(making->spans);
    making->spans = calloc(count + 1, sizeof *making->spans);
    if (making->spans == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const uint64_t since = (list->spans[i].begin - begin) & TRACE_TIME_MASK;

        making->spans[i] = (struct profile_span){
            .node = making->nodes[list->spans[i].node],
            .begin = since > TRACE_TIME_MASK / 2 ? 0 : profile_cost(making->report, since),
            .length = profile_cost(making->report, list->spans[i].length),
        };
    }
    making->profile.spans = making->spans;
    making->profile.span_count = count;
    making->profile.spans_left_out = list != NULL ? list->left_out : 0;
    return true;
}

static bool report_delivery(struct making *making, const uint32_t *nodes, size_t count)
{
    const struct call_tree *const tree = making->report->tree;

    for (size_t i = 0; i < count; i++)
        making->functions[tree->nodes[nodes[i]].function] = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t parent = tree->nodes[nodes[i]].parent;
        const bool outermost = tree->nodes[parent].function >= CALL_TREE_GROUPS;

        if (!add_profile_node(making, nodes[i], outermost ? 0 : making->nodes[parent]))
            return false;
    }
    return true;
}

static int put_profile_delivery(struct buf *out, struct making *making, size_t delivery,
                                const uint32_t *nodes, size_t count, struct error *error)
{
    const struct archive_delivery *const of = &making->report->deliveries[delivery];
    const struct profile_delivery head = {
        .vat_id = of->vat_id,
        .vat = of->vat,
        .method = of->method,
        .crank_num = of->crank_num >= 0 ? of->crank_num : PROFILE_NO_CRANK,
        .delivery_num = of->delivery_num,
    };
    int result = -1;

    if (count == 0)
        return 0;
    if (!open_profile(making) || !report_delivery(making, nodes, count) ||
        !add_spans(making, delivery))
        error_memory(error, "a report");
    else if (profile_sum(&making->profile, error) == 0)
        result = profile_put_lines(out, &making->profile, &head, error);
    profile_close(&making->profile);
    return result;
}

int trace_report_put_deliveries(struct buf *out, const struct trace_report *report,
                                struct error *error)
{
    uint32_t *const nodes = calloc(report->tree->count, sizeof *nodes);
    size_t *const ends = calloc(report->delivery_count + 1, sizeof *ends);
    struct making making;
    int result = 0;

    if (!start(&making, report) || nodes == NULL || ends == NULL ||
        !sort_nodes(report, nodes, ends))
        result = error_memory(error, "a report");
    for (size_t i = 0; result == 0 && i < report->delivery_count; i++) {
        const size_t first = i > 0 ? ends[i - 1] : 0;

        result = put_profile_delivery(out, &making, i, nodes + first, ends[i] - first, error);
    }
    finish(&making);
    free(nodes);
    free(ends);
    return result;
}
