/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_archive.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/memory.h"
#include "trace/read/trace_file.h"
#include "trace/read/trace_requests.h"

enum { PROCESSES_MAX = 65536 };

/* A process while its events are read. */
struct archive_process {
    char *vat_id;      /* owned; NULL: not a worker */
    uint32_t *numbers; /* of its functions, in the archive: numbers[i] for i + 1 */
    size_t number_count;
    size_t first_module;
    uint64_t *ticks; /* where its deliveries begin and end */
    uint32_t *groups;
    size_t cut_count;
    struct request_finder requests;
    uint64_t *calls;         /* by the archive's functions; NULL: none of them is left out */
    struct trace_sums *sums; /* only the stacks of its lanes are used */
};

struct reading {
    struct archive *archive;
    const struct archive_listener *listener; /* NULL: none */
    const char *path;
    struct archive_process *processes;
    size_t process_count, process_capacity;
    bool clock_known, has_requests;
};

static int bad(const struct reading *reading, const char *what, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: a block of the trace has no %s", reading->path, what);
}

static int archive_memory(struct error *error)
{
    return error_memory(error, "a trace");
}

/* ---- first: processes, functions, deliveries, clock ---- */

/* "gaspipe-worker:v1:token" is the worker of v1. */
static char *vat_of_worker(const char *name)
{
    const char *const first = strchr(name, ':');
    const char *const second = first != NULL ? strchr(first + 1, ':') : NULL;

    return second != NULL ? strndup(first + 1, (size_t)(second - first - 1)) : NULL;
}

static int add_module(struct archive *archive, const json_t *content, struct error *error)
{
    const char *const path = json_string_value(json_object_get(content, "path"));
    const char *const build_id = json_string_value(json_object_get(content, "buildId"));
    struct archive_module *const module = &archive->modules[archive->module_count];

    *module = (struct archive_module){.path = strdup(path != NULL ? path : "?")};
    if (module->path == NULL)
        return archive_memory(error);
    snprintf(module->build_id, sizeof module->build_id, "%s", build_id != NULL ? build_id : "");
    archive->module_count++;
    return 0;
}

static int add_modules(struct reading *reading, const json_t *modules, struct error *error)
{
    struct archive *const archive = reading->archive;
    const size_t count = json_array_size(modules);
    struct archive_module *const all =
        reallocarray(archive->modules, archive->module_count + count + 1, sizeof *all);

    if (all == NULL)
        return archive_memory(error);
    archive->modules = all;
    for (size_t i = 0; i < count; i++)
        if (add_module(archive, json_array_get(modules, i), error) != 0)
            return -1;
    return 0;
}

static int add_function_name(struct archive *archive, uint32_t number, const char *name,
                             struct error *error)
{
    const size_t count = archive->process_count > number ? archive->process_count : number + 1;
    char **const names = reallocarray(archive->process_names, count, sizeof *names);

    if (names == NULL)
        return archive_memory(error);
    archive->process_names = names;
    while (archive->process_count < count)
        names[archive->process_count++] = NULL;
    names[number] = strdup(name);
    return names[number] != NULL ? 0 : archive_memory(error);
}

static int add_process(struct reading *reading, uint32_t number, const json_t *content,
                       struct error *error)
{
    const char *const name = json_string_value(json_object_get(content, "name"));
    struct archive_process *processes;

    if (name == NULL || number >= PROCESSES_MAX)
        return bad(reading, "process", error);
    processes = array_reserve(reading->processes, &reading->process_capacity, number + 1,
                              sizeof *processes);
    if (processes == NULL)
        return archive_memory(error);
    reading->processes = processes;
    while (reading->process_count <= number)
        processes[reading->process_count++] = (struct archive_process){0};
    if (processes[number].sums != NULL)
        return bad(reading, "new process", error);
    processes[number].sums = calloc(1, sizeof *processes[number].sums);
    processes[number].vat_id = vat_of_worker(name);
    processes[number].first_module = reading->archive->module_count;
    if (processes[number].sums == NULL)
        return archive_memory(error);
    if (add_function_name(reading->archive, number, name, error) != 0)
        return -1;
    return add_modules(reading, json_object_get(content, "modules"), error);
}

/* The archive's number of a function, which processes with the same file share; 0 if out of memory.
 * Workers mostly have the same functions in the same order. */
static uint32_t function_number(struct archive *archive, const char *name, uint32_t module,
                                uint64_t address, size_t guess)
{
    struct archive_function *functions;

    for (size_t step = 0; step < archive->function_count; step++) {
        const size_t i = (guess + step) % archive->function_count;

        if (archive->functions[i].address == address &&
            strcmp(archive->functions[i].name, name) == 0 &&
            strcmp(archive->modules[archive->functions[i].module].path,
                   archive->modules[module].path) == 0)
            return (uint32_t)i + 1;
    }
    if (archive->function_count == TRACE_FUNCTIONS_MAX)
        return TRACE_FUNCTIONS_MAX;
    functions = array_reserve(archive->functions, &archive->function_capacity,
                              archive->function_count + 1, sizeof *functions);
    if (functions == NULL)
        return 0;
    archive->functions = functions;
    functions[archive->function_count] =
        (struct archive_function){.name = strdup(name), .module = module, .address = address};
    if (functions[archive->function_count].name == NULL)
        return 0;
    return (uint32_t)++archive->function_count;
}

static int add_functions(struct reading *reading, uint32_t number, const json_t *content,
                         struct error *error)
{
    struct archive_process *process;
    const json_t *function;
    size_t i;

    if (number >= reading->process_count || reading->processes[number].sums == NULL ||
        reading->processes[number].numbers != NULL || !json_is_array(content))
        return bad(reading, "process before its functions", error);
    process = &reading->processes[number];
    process->numbers = calloc(json_array_size(content) + 1, sizeof *process->numbers);
    if (process->numbers == NULL)
        return archive_memory(error);
    json_array_foreach(content, i, function)
    {
        const char *const name = json_string_value(json_array_get(function, 0));
        const json_int_t module = json_integer_value(json_array_get(function, 1));
        const json_int_t address = json_integer_value(json_array_get(function, 2));

        if (name == NULL || module < 0 ||
            process->first_module + (size_t)module >= reading->archive->module_count)
            return bad(reading, "function's name", error);
        process->numbers[i] = function_number(reading->archive, name,
                                              (uint32_t)(process->first_module + (size_t)module),
                                              (uint64_t)address, i);
        if (process->numbers[i] == 0)
            return archive_memory(error);
    }
    process->number_count = json_array_size(content);
    return 0;
}

/* A copy; NULL with the error filled. */
static char *copy_member(const struct reading *reading, const json_t *content, const char *name,
                         struct error *error)
{
    const char *const text = json_string_value(json_object_get(content, name));
    char *const copy = text != NULL ? strdup(text) : NULL;

    if (text == NULL)
        bad(reading, name, error);
    else if (copy == NULL)
        archive_memory(error);
    return copy;
}

static int64_t time_in(const json_t *content, const char *name)
{
    return json_integer_value(json_object_get(content, name));
}

static int fill_delivery(const struct reading *reading, struct archive_delivery *delivery,
                         const json_t *content, struct error *error)
{
    const json_t *const crank = json_object_get(content, "crankNum");

    delivery->begin = time_in(content, "begin");
    delivery->end = time_in(content, "end");
    delivery->crank_num = json_is_integer(crank) ? json_integer_value(crank) : -1;
    delivery->delivery_num = time_in(content, "deliveryNum");
    if ((delivery->vat_id = copy_member(reading, content, "vatID", error)) == NULL ||
        (delivery->vat = copy_member(reading, content, "vat", error)) == NULL ||
        (delivery->method = copy_member(reading, content, "method", error)) == NULL)
        return -1;
    return asprintf(&delivery->name, "%s %s #%" PRId64, delivery->vat_id, delivery->method,
                    delivery->delivery_num) < 0
               ? archive_memory(error)
               : 0;
}

static int add_archive_delivery(struct reading *reading, const json_t *content, struct error *error)
{
    struct archive *const archive = reading->archive;
    struct archive_delivery *const deliveries =
        array_reserve(archive->deliveries, &archive->delivery_capacity, archive->delivery_count + 1,
                      sizeof *deliveries);

    if (deliveries == NULL)
        return archive_memory(error);
    archive->deliveries = deliveries;
    deliveries[archive->delivery_count] = (struct archive_delivery){0};
    return fill_delivery(reading, &deliveries[archive->delivery_count++], content, error);
}

static int add_clock(struct reading *reading, const json_t *content, struct error *error)
{
    const struct trace_moment moment = {
        .ticks = (uint64_t)json_integer_value(json_object_get(content, "ticks")),
        .mono = json_integer_value(json_object_get(content, "mono")),
    };

    if (moment.ticks == 0 ||
        !trace_clock_take(&reading->archive->clock.kind,
                          json_string_value(json_object_get(content, "clock"))))
        return bad(reading, "clock", error);
    if (!reading->clock_known)
        reading->archive->clock.first = moment;
    reading->archive->clock.last = moment;
    reading->clock_known = true;
    return 0;
}

static int add_left_out(struct reading *reading, uint32_t number, const json_t *content,
                        struct error *error)
{
    const json_t *const functions = json_object_get(content, "functions");
    const struct archive_process *process;

    if (number >= reading->process_count || reading->processes[number].numbers == NULL)
        return bad(reading, "process before what is left out", error);
    process = &reading->processes[number];
    for (size_t i = 0; i < json_array_size(functions); i++) {
        const json_int_t function = json_integer_value(json_array_get(functions, i));

        if (function < 1 || (uint64_t)function > process->number_count)
            return bad(reading, "function that is left out", error);
        if (trace_exclusions_add(&reading->archive->exclusions, number,
                                 process->numbers[function - 1], time_in(content, "at"),
                                 error) != 0)
            return -1;
    }
    return 0;
}

static int add_marks(struct reading *reading, uint32_t number, const json_t *content,
                     struct error *error)
{
    if (number >= reading->process_count || reading->processes[number].numbers == NULL)
        return bad(reading, "process before its requests", error);
    reading->has_requests = true;
    return request_finder_open(&reading->processes[number].requests, content,
                               reading->processes[number].number_count, error);
}

static int add_json(struct reading *reading, const struct trace_block *block, const json_t *content,
                    struct error *error)
{
    switch (block->kind) {
    case TRACE_BLOCK_PROCESS:
        return add_process(reading, block->process, content, error);
    case TRACE_BLOCK_FUNCTIONS:
        return add_functions(reading, block->process, content, error);
    case TRACE_BLOCK_CLOCK:
        return add_clock(reading, content, error);
    case TRACE_BLOCK_DELIVERY:
        return add_archive_delivery(reading, content, error);
    case TRACE_BLOCK_REQUESTS:
        return add_marks(reading, block->process, content, error);
    case TRACE_BLOCK_LEFT_OUT:
        return add_left_out(reading, block->process, content, error);
    default:
        return 0;
    }
}

static int on_first(void *context, const struct trace_block *block, const uint8_t *content,
                    struct error *error)
{
    struct reading *const reading = context;
    json_t *json;
    int result;

    if (block->kind == TRACE_BLOCK_EVENTS || block->kind == TRACE_BLOCK_LANE_ENDED)
        return 0;
    json = json_loadb((const char *)content, block->length, 0, NULL);
    if (json == NULL)
        return bad(reading, "JSON", error);
    result = add_json(reading, block, json, error);
    json_decref(json);
    return result;
}

/* ---- between: requests ---- */

static int on_requests(void *context, const struct trace_block *block, const uint8_t *content,
                       struct error *error)
{
    const struct reading *const reading = context;
    struct request_finder *finder;
    struct trace_lane_events events;
    unsigned lane;
    int result;

    if (block->process >= reading->process_count ||
        !reading->processes[block->process].requests.marks.known)
        return 0;
    finder = &reading->processes[block->process].requests;
    if (block->kind == TRACE_BLOCK_LANE_ENDED && trace_file_read_lane(block, content, &lane))
        request_finder_end_lane(finder, lane);
    if (block->kind != TRACE_BLOCK_EVENTS)
        return 0;
    if (trace_file_read_events(block, content, &events, error) != 0)
        return error_prefix(error, "%s", reading->path);
    result = request_finder_add(finder, &events, error);
    free(events.events);
    return result;
}

/* CLOCK_MONOTONIC at an event's ticks. */
static int64_t mono_at(const struct reading *reading, uint64_t ticks)
{
    const struct trace_clock *const clock = &reading->archive->clock;

    return trace_clock_mono(clock,
                            clock->first.ticks + ((ticks - clock->first.ticks) & TRACE_TIME_MASK));
}

/* As a delivery: its vat is the thread, its method the function. */
static int add_request(struct reading *reading, uint32_t process, const struct traced_request *from,
                       int64_t crank_num, struct error *error)
{
    struct archive *const archive = reading->archive;
    const uint32_t function = reading->processes[process].numbers[from->function - 1];
    struct archive_delivery *const deliveries =
        array_reserve(archive->deliveries, &archive->delivery_capacity, archive->delivery_count + 1,
                      sizeof *deliveries);
    struct archive_delivery *delivery;

    if (deliveries == NULL)
        return archive_memory(error);
    archive->deliveries = deliveries;
    delivery = &deliveries[archive->delivery_count++];
    *delivery = (struct archive_delivery){
        .vat = strdup(archive->process_names[process]),
        .method = strdup(archive->functions[function - 1].name),
        .crank_num = crank_num,
        .begin = mono_at(reading, from->begin),
        .end = mono_at(reading, from->end),
        .request = {process, from->thread, from->lane, from->id, mono_at(reading, from->arrived),
                    from->begin, from->end},
    };
    return delivery->vat == NULL || delivery->method == NULL ||
                   asprintf(&delivery->vat_id, "t%" PRIu32, from->thread) < 0
               ? archive_memory(error)
               : 0;
}

static int by_lane(const void *a, const void *b)
{
    const struct archive_request *const x = &((const struct archive_delivery *)a)->request;
    const struct archive_request *const y = &((const struct archive_delivery *)b)->request;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool are_of_one_thread(const struct archive_request *x, const struct archive_request *y)
{
    return x->process == y->process && x->thread == y->thread;
}

/* Numbers the requests of each thread. */
static int name_requests(const struct archive *archive, struct error *error)
{
    char id[TRACE_VALUE_WORDS];

    for (size_t i = 0; i < archive->delivery_count; i++) {
        struct archive_delivery *const delivery = &archive->deliveries[i];
        const bool more = i > 0 && are_of_one_thread(&delivery[-1].request, &delivery->request);

        delivery->delivery_num = more ? delivery[-1].delivery_num + 1 : 1;
        trace_value_words(id, delivery->request.id);
        if (asprintf(&delivery->name, "%s %s(%s) #%" PRId64, delivery->vat_id, delivery->method, id,
                     delivery->delivery_num) < 0)
            return archive_memory(error);
    }
    return 0;
}

/* Adds requests as deliveries, by their lanes. A trace of a server has no others. */
static int add_requests(struct reading *reading, struct error *error)
{
    struct archive *const archive = reading->archive;
    int64_t crank = 0; /* each follows that of its arrival (trace/report/request_slog.h) */

    if (archive->delivery_count > 0 || archive->clock.kind != TRACE_CLOCK_TSC)
        return error_set(error, ERROR_INPUT, "%s: requests need a trace of a server, with times",
                         reading->path);
    if (trace_file_read(reading->path, on_requests, reading, &archive->torn, error) != 0)
        return -1;
    for (size_t i = 0; i < reading->process_count; i++) {
        struct request_finder *const finder = &reading->processes[i].requests;

        request_finder_settle(finder);
        for (size_t j = 0; j < finder->request_count; j++)
            if (add_request(reading, (uint32_t)i, &finder->requests[j], crank += 2, error) != 0)
                return -1;
    }
    if (archive->delivery_count > 0)
        qsort(archive->deliveries, archive->delivery_count, sizeof *archive->deliveries, by_lane);
    return name_requests(archive, error);
}

/* Each lane has its own. */
static void cut_requests(const struct reading *reading, struct archive_process *process)
{
    const struct archive *const archive = reading->archive;

    for (size_t i = 0; i < archive->delivery_count; i++) {
        const struct archive_request *const request = &archive->deliveries[i].request;
        struct call_cuts *const cuts = &process->sums->cuts[request->lane];

        if (&reading->processes[request->process] != process)
            continue;
        if (cuts->count == 0)
            *cuts = (struct call_cuts){.ticks = &process->ticks[process->cut_count],
                                       .groups = &process->groups[process->cut_count]};
        process->ticks[process->cut_count] = request->begin;
        process->groups[process->cut_count++] = (uint32_t)(CALL_TREE_GROUPS + i);
        process->ticks[process->cut_count] = request->end;
        process->groups[process->cut_count++] = 0;
        cuts->count += 2;
    }
}

/* ---- between: where the deliveries of a process begin and end ---- */

/* In ticks, as in events. */
static uint64_t ticks_at(const struct reading *reading, int64_t mono)
{
    return trace_clock_ticks(&reading->archive->clock, mono) & TRACE_TIME_MASK;
}

static int cut_process(struct reading *reading, struct archive_process *process,
                       struct error *error)
{
    const struct archive *const archive = reading->archive;

    process->ticks = calloc(2 * archive->delivery_count + 1, sizeof *process->ticks);
    process->groups = calloc(2 * archive->delivery_count + 1, sizeof *process->groups);
    if (process->ticks == NULL || process->groups == NULL)
        return archive_memory(error);
    if (process->requests.request_count > 0) {
        cut_requests(reading, process);
        return 0;
    }
    for (size_t i = 0; i < archive->delivery_count && process->vat_id != NULL; i++) {
        const struct archive_delivery *const delivery = &archive->deliveries[i];
        const size_t at = process->cut_count;
        const uint64_t begin = ticks_at(reading, delivery->begin);

        /* Deliveries are in order; one that is not would get no time. */
        if (strcmp(delivery->vat_id, process->vat_id) != 0 ||
            (at > 0 && begin < process->ticks[at - 1]))
            continue;
        process->ticks[at] = begin;
        process->groups[at] = (uint32_t)(CALL_TREE_GROUPS + i);
        process->ticks[at + 1] = ticks_at(reading, delivery->end);
        process->groups[at + 1] = 0;
        process->cut_count += 2;
    }
    for (size_t i = 0; process->sums != NULL && i < TRACE_LANES_MAX; i++)
        process->sums->cuts[i] = (struct call_cuts){
            .ticks = process->ticks, .groups = process->groups, .count = process->cut_count};
    return 0;
}

/* Counts the calls of a process of which some functions are left out. */
static int open_calls(struct reading *reading, struct error *error)
{
    const struct archive *const archive = reading->archive;

    for (size_t i = 0; i < archive->exclusions.count; i++) {
        struct archive_process *const process =
            &reading->processes[archive->exclusions.list[i].process];

        if (process->calls == NULL)
            process->calls = calloc(archive->function_count + 1, sizeof *process->calls);
        if (process->calls == NULL)
            return archive_memory(error);
    }
    return 0;
}

/* ---- then: events ---- */

/* The next calls are of this stack's thread. */
static int listen(const struct reading *reading, const struct thread_stack *stack, uint32_t process,
                  struct error *error)
{
    const struct archive_listener *const listener = reading->listener;

    return listener != NULL
               ? listener->thread(listener->calls.context, process, stack->thread, error)
               : 0;
}

static int end_archive_lane(const struct reading *reading, uint32_t process, unsigned lane,
                            struct error *error)
{
    struct thread_stack *const stack = &reading->processes[process].sums->stacks[lane];

    if (stack->depth > 0 && listen(reading, stack, process, error) != 0)
        return -1;
    thread_stack_end(stack, &reading->archive->tree);
    return 0;
}

/* Ends the calls that are open at the end of the trace. */
static int end_lanes(const struct reading *reading, struct error *error)
{
    for (size_t i = 0; reading->listener != NULL && i < reading->process_count; i++)
        for (unsigned lane = 0; reading->processes[i].sums != NULL && lane < TRACE_LANES_MAX;
             lane++) {
            reading->processes[i].sums->stacks[lane].spans = NULL;
            if (end_archive_lane(reading, (uint32_t)i, lane, error) != 0)
                return -1;
        }
    return 0;
}

static uint64_t renumber_value(const struct archive_process *process, uint64_t event)
{
    enum { SHIFT = TRACE_TIME_SHIFT + TRACE_VALUE_FUNCTION_SHIFT };
    const uint64_t number = event >> SHIFT & 0x7fff;

    return number >= 1 && number <= process->number_count
               ? (event & ~(UINT64_C(0x7fff) << SHIFT)) | (uint64_t)process->numbers[number - 1]
                                                              << SHIFT
               : event;
}

/* Replaces the process's numbers of functions by the archive's. */
static void renumber(const struct archive_process *process, uint64_t *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = events[i] >> 1 & 0x7fff;
        const uint32_t open = (uint32_t)(events[i] >> TRACE_TIME_SHIFT);

        if (number >= 1 && number <= process->number_count)
            events[i] = (events[i] & ~(UINT64_C(0x7fff) << 1)) |
                        (uint64_t)process->numbers[number - 1] << 1;
        else if (number == TRACE_OPEN && open >= 1 && open <= process->number_count)
            events[i] = (uint64_t)process->numbers[open - 1] << TRACE_TIME_SHIFT |
                        (events[i] & ((1 << TRACE_TIME_SHIFT) - 1));
        else if (number == TRACE_VALUE_OF)
            events[i] = renumber_value(process, events[i]);
    }
}

static void count_calls(struct archive_process *process, const struct archive *archive,
                        const uint64_t *events, size_t count)
{
    for (size_t i = 0; i < count && process->calls != NULL; i++) {
        const uint64_t number = events[i] >> 1 & 0x7fff;

        if ((events[i] & 1) == 0 && number <= archive->function_count)
            process->calls[number]++;
    }
}

static int add_events(struct reading *reading, struct archive_process *process,
                      const struct trace_block *block, const uint8_t *content, struct error *error)
{
    struct trace_lane_events of;
    struct thread_stack *stack;
    int result;

    if (trace_file_read_events(block, content, &of, error) != 0)
        return error_prefix(error, "%s", reading->path);
    stack = &process->sums->stacks[of.lane];
    renumber(process, of.events, of.count);
    count_calls(process, reading->archive, of.events, of.count);
    /* Other clocks do not say when calls were. */
    if (reading->archive->clock.kind == TRACE_CLOCK_TSC)
        stack->spans = &reading->archive->spans;
    stack->listener = reading->listener != NULL ? &reading->listener->calls : NULL;
    stack->thread = of.thread;
    result = listen(reading, stack, block->process, error);
    if (result == 0)
        result = thread_stack_add(stack, &reading->archive->tree, &process->sums->cuts[of.lane],
                                  of.events, of.count, error);
    free(of.events);
    return result;
}

static int on_second(void *context, const struct trace_block *block, const uint8_t *content,
                     struct error *error)
{
    struct reading *const reading = context;
    struct archive_process *process;
    unsigned lane;

    if (block->kind != TRACE_BLOCK_EVENTS && block->kind != TRACE_BLOCK_LANE_ENDED)
        return 0;
    if (block->process >= reading->process_count || reading->processes[block->process].sums == NULL)
        return bad(reading, "process before its events", error);
    process = &reading->processes[block->process];
    if (block->kind == TRACE_BLOCK_EVENTS)
        return add_events(reading, process, block, content, error);
    return trace_file_read_lane(block, content, &lane)
               ? end_archive_lane(reading, block->process, lane, error)
               : 0;
}

static void add_counts(struct archive *archive, const struct archive_process *process)
{
    const struct trace_counts counts =
        process->sums != NULL ? trace_sums_counts(process->sums) : (struct trace_counts){0};

    archive->counts.events += counts.events;
    archive->counts.unwound += counts.unwound;
    archive->counts.unmatched += counts.unmatched;
    archive->counts.lost += counts.lost;
}

static void note_calls(const struct reading *reading)
{
    const struct trace_exclusions *const exclusions = &reading->archive->exclusions;

    for (size_t i = 0; i < exclusions->count; i++) {
        struct trace_exclusion *const exclusion = &exclusions->list[i];
        const uint64_t *const calls = reading->processes[exclusion->process].calls;

        exclusion->calls = calls != NULL ? calls[exclusion->function] : 0;
    }
}

static int read_twice(struct reading *reading, struct error *error)
{
    struct archive *const archive = reading->archive;

    if (trace_file_read(reading->path, on_first, reading, &archive->torn, error) != 0)
        return -1;
    if (reading->has_requests && add_requests(reading, error) != 0)
        return -1;
    for (size_t i = 0; i < reading->process_count; i++)
        if (cut_process(reading, &reading->processes[i], error) != 0)
            return -1;
    if (open_calls(reading, error) != 0)
        return -1;
    if (reading->listener != NULL &&
        reading->listener->begin(reading->listener->calls.context, error) != 0)
        return -1;
    return trace_file_read(reading->path, on_second, reading, &archive->torn, error) == 0
               ? end_lanes(reading, error)
               : -1;
}

static void free_reading(struct reading *reading)
{
    for (size_t i = 0; i < reading->process_count; i++) {
        struct archive_process *const process = &reading->processes[i];

        for (size_t lane = 0; process->sums != NULL && lane < TRACE_LANES_MAX; lane++)
            thread_stack_free(&process->sums->stacks[lane]);
        free(process->sums);
        request_finder_close(&process->requests);
        free(process->vat_id);
        free(process->numbers);
        free(process->ticks);
        free(process->groups);
        free(process->calls);
    }
    free(reading->processes);
}

int archive_read(struct archive *archive, const char *path, size_t spans,
                 const struct archive_listener *listener, struct error *error)
{
    struct reading reading = {.archive = archive, .listener = listener, .path = path};
    int result;

    *archive = (struct archive){.spans.most = spans};
    if (call_tree_open(&archive->tree, error) != 0)
        return -1;
    result = read_twice(&reading, error);
    for (size_t i = 0; i < reading.process_count; i++)
        add_counts(archive, &reading.processes[i]);
    note_calls(&reading);
    call_tree_settle(&archive->tree);
    call_spans_settle(&archive->spans);
    free_reading(&reading);
    return result == 0 && archive->spans.failed ? archive_memory(error) : result;
}

void archive_free(struct archive *archive)
{
    for (size_t i = 0; i < archive->function_count; i++)
        free(archive->functions[i].name);
    for (size_t i = 0; i < archive->module_count; i++)
        free(archive->modules[i].path);
    for (size_t i = 0; i < archive->delivery_count; i++) {
        free(archive->deliveries[i].name);
        free(archive->deliveries[i].vat_id);
        free(archive->deliveries[i].vat);
        free(archive->deliveries[i].method);
    }
    for (size_t i = 0; i < archive->process_count; i++)
        free(archive->process_names[i]);
    free(archive->process_names);
    free(archive->functions);
    free(archive->modules);
    free(archive->deliveries);
    call_tree_close(&archive->tree);
    call_spans_free(&archive->spans);
    trace_exclusions_free(&archive->exclusions);
    *archive = (struct archive){0};
}
