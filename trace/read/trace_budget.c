/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_budget.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "trace/memory.h"

enum { PATCH_BYTES = 5 };

/* Returns true if the thread waits in this system call, and sets *first to its first argument.
 * Linux's file has "running", or the call's number and arguments (proc(5)). */
static bool is_waiting(int threads, const char *thread, long call, uint64_t *first)
{
    char path[300], words[64];
    ssize_t length;
    char *end;
    int file;

    snprintf(path, sizeof path, "%s/syscall", thread);
    file = openat(threads, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    length = read(file, words, sizeof words - 1);
    close(file);
    words[length > 0 ? length : 0] = '\0';
    if (strtol(words, &end, 10) != call || end == words)
        return false;
    *first = strtoull(end, NULL, 16);
    return true;
}

/* The number of threads; 0 if not all wait in this system call. */
static size_t count_waiting(pid_t process, long call, uint64_t *first)
{
    const struct dirent *entry;
    size_t count = 0;
    char path[64];
    DIR *threads;

    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    threads = opendir(path);
    if (threads == NULL)
        return 0;
    /* cppcheck-suppress readdirCalled ; no other thread reads this directory */
    while ((entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (!is_waiting(dirfd(threads), entry->d_name, call, first)) {
            count = 0;
            break;
        }
    }
    closedir(threads);
    return count;
}

bool trace_text_is_idle(pid_t process)
{
    uint64_t unused;

    return count_waiting(process, SYS_read, &unused) > 0;
}

bool trace_text_waits_at(pid_t process, uint64_t address)
{
    uint64_t first;

    return count_waiting(process, SYS_futex, &first) == 1 && first == address;
}

int trace_text_open(pid_t process)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/mem", (int)process);
    return open(path, O_RDWR | O_CLOEXEC);
}

bool trace_text_put(int text, const struct trace_patch *patch, bool patched)
{
    const uint8_t *const from = patched ? patch->before : patch->after;
    const uint8_t *const to = patched ? patch->after : patch->before;
    uint8_t bytes[PATCH_BYTES];

    if (pread(text, bytes, sizeof bytes, (off_t)patch->address) != PATCH_BYTES)
        return false;
    if (memcmp(bytes, to, sizeof bytes) == 0)
        return true;
    return memcmp(bytes, from, sizeof bytes) == 0 &&
           pwrite(text, to, PATCH_BYTES, (off_t)patch->address) == PATCH_BYTES;
}

/* ---- excluded functions ---- */

enum { SHOWN = 8 }; /* functions in a line */

static int exclusion_memory(struct error *error)
{
    return error_memory(error, "the list of excluded functions");
}

int trace_exclusions_add(struct trace_exclusions *exclusions, uint32_t process, uint32_t function,
                         int64_t at, struct error *error)
{
    struct trace_exclusion *list;

    for (size_t i = 0; i < exclusions->count; i++)
        if (exclusions->list[i].process == process && exclusions->list[i].function == function)
            return 0;
    list =
        array_reserve(exclusions->list, &exclusions->capacity, exclusions->count + 1, sizeof *list);
    if (list == NULL)
        return exclusion_memory(error);
    exclusions->list = list;
    list[exclusions->count++] =
        (struct trace_exclusion){.function = function, .process = process, .begin = at};
    return 0;
}

void trace_exclusions_free(struct trace_exclusions *exclusions)
{
    free(exclusions->list);
    *exclusions = (struct trace_exclusions){0};
}

static int compare_exclusions(const void *left, const void *right)
{
    const struct trace_exclusion *a = left, *b = right;

    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

/* Returns the exclusions of a process, most called first, for the caller to free; NULL if out of
 * memory. */
static struct trace_exclusion *find_exclusions(const struct trace_exclusions *exclusions,
                                               uint32_t process,
                                               const struct trace_exclusion_words *words,
                                               size_t *count)
{
    struct trace_exclusion *const all = calloc(exclusions->count + 1, sizeof *all);

    *count = 0;
    if (all == NULL)
        return NULL;
    for (size_t i = 0; i < exclusions->count; i++) {
        if (exclusions->list[i].process != process)
            continue;
        all[*count] = exclusions->list[i];
        if (words->calls != NULL)
            all[*count].calls = words->calls(words->context, all[*count].function);
        (*count)++;
    }
    qsort(all, *count, sizeof *all, compare_exclusions);
    return all;
}

static double seconds_in(const struct trace_exclusion_words *words, int64_t at)
{
    return (double)(at - words->zero) / 1e9;
}

int trace_exclusions_put(const struct trace_exclusions *exclusions, uint32_t process,
                         const struct trace_exclusion_words *words, struct buf *out,
                         struct error *error)
{
    size_t count;
    struct trace_exclusion *const all = find_exclusions(exclusions, process, words, &count);

    if (all == NULL)
        return exclusion_memory(error);
    if (count > 0)
        buf_printf(out, "%zu function%s left out to keep the overhead, the most called: ", count,
                   count == 1 ? "" : "s");
    for (size_t i = 0; i < count && i < SHOWN; i++)
        buf_printf(out, "%s%s after %" PRIu64 " calls (from %.3f s on)", i > 0 ? ", " : "",
                   words->name(words->context, all[i].function), all[i].calls,
                   seconds_in(words, all[i].begin));
    buf_append_string(out, count > SHOWN ? ", …" : "");
    free(all);
    return 0;
}

static void put_exclusion_text(struct buf *out, const char *text)
{
    json_text_string(out, text, strlen(text));
}

int trace_exclusions_put_json(const struct trace_exclusions *exclusions, uint32_t process,
                              const char *name, const struct trace_exclusion_words *words,
                              struct buf *out, struct error *error)
{
    size_t count;
    struct trace_exclusion *const all = find_exclusions(exclusions, process, words, &count);

    if (all == NULL)
        return exclusion_memory(error);
    for (size_t i = 0; i < count; i++) {
        buf_append_string(out, "{\"kind\":\"leftOut\",\"process\":");
        put_exclusion_text(out, name);
        buf_append_string(out, ",\"function\":");
        put_exclusion_text(out, words->name(words->context, all[i].function));
        buf_printf(out, ",\"periods\":[[%.9f,null]]}\n", seconds_in(words, all[i].begin));
    }
    free(all);
    return 0;
}

/* ---- the budget ---- */

enum { DECISION_EVENTS = 2000 }; /* enough to find the functions that are called most */

/* A decision aims at half of the share, because tracing costs more than its events: the process
 * waits and wakes, and its caches hold less of its own data. */
#define AIMED_AT 0.5

int trace_budget_open(struct trace_budget *budget, double share, size_t functions,
                      struct error *error)
{
    *budget = (struct trace_budget){.share = share, .count = functions + 1};
    budget->functions = calloc(budget->count, sizeof *budget->functions);
    budget->order = calloc(budget->count, sizeof *budget->order);
    return budget->functions != NULL && budget->order != NULL
               ? 0
               : error_memory(error, "the budget of a trace");
}

void trace_budget_close(struct trace_budget *budget)
{
    free(budget->functions);
    free(budget->order);
    *budget = (struct trace_budget){0};
}

static void add_budget_call(struct trace_budget *budget, struct budget_function *function,
                            uint64_t time)
{
    function->calls++;
    function->all++;
    /* Functions that are called very often have no times. */
    if (budget->cold_cost == 0 || time == 0)
        return;
    if (((time - function->last) & TRACE_TIME_MASK) > budget->cold_after) {
        function->cold++;
        budget->cold++;
    }
    function->last = time;
}

void trace_budget_add(struct trace_budget *budget, const uint64_t *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = events[i] >> 1 & 0x7fff;

        if ((events[i] & 1) == 0 && number < budget->count)
            add_budget_call(budget, &budget->functions[number], events[i] >> TRACE_TIME_SHIFT);
    }
    budget->events += count;
}

bool trace_budget_is_due(const struct trace_budget *budget)
{
    return budget->events >= DECISION_EVENTS;
}

/* ---- costs ---- */

/* Nanoseconds that an event takes. */
static double event_price(const struct trace_budget *budget, struct trace_spent spent,
                          uint64_t events)
{
    const double reading = events > 0 ? (double)spent.reader / (double)events : 0;

    return reading > budget->event_cost ? reading : budget->event_cost;
}

/* Nanoseconds that the process spent on tracing. */
static double traced_time(const struct trace_budget *budget, uint64_t events, uint64_t cold)
{
    return (double)events * budget->event_cost + (double)cold * budget->cold_cost;
}

/* Nanoseconds that it spent on its own work. */
static double own_time(struct trace_spent spent, double traced)
{
    const double own = (double)spent.process - traced;

    return own > 0 ? own : 0;
}

/* ---- a decision ---- */

/* A call is two events. */
static double function_cost(const struct trace_budget *budget, uint32_t number, double price)
{
    const struct budget_function *const function = &budget->functions[number];

    return 2 * (double)function->calls * price + (double)function->cold * budget->cold_cost;
}

static int compare_costs(const void *left, const void *right, void *budget_of)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct trace_budget *const budget = budget_of;
    const double of_a = function_cost(budget, a, budget->event_cost);
    const double of_b = function_cost(budget, b, budget->event_cost);

    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    return (a > b) - (a < b);
}

/* Most expensive first. */
static void sort_by_cost(struct trace_budget *budget)
{
    for (size_t i = 0; i < budget->count; i++)
        budget->order[i] = (uint32_t)i;
    qsort_r(budget->order, budget->count, sizeof *budget->order, compare_costs, budget);
}

static void begin_again(struct trace_budget *budget)
{
    for (size_t i = 0; i < budget->count; i++)
        budget->functions[i].calls = budget->functions[i].cold = 0;
    budget->events = budget->cold = 0;
}

size_t trace_budget_decide(struct trace_budget *budget, struct trace_spent spent,
                           const uint32_t **chosen)
{
    const double own = own_time(spent, traced_time(budget, budget->events, budget->cold));
    const double allowed = own * budget->share * AIMED_AT;
    const double price = event_price(budget, spent, budget->events);
    double used = (double)budget->events * price + (double)budget->cold * budget->cold_cost;
    size_t count = 0;

    sort_by_cost(budget);
    *chosen = budget->order;
    while (used > allowed && count < budget->count &&
           budget->functions[budget->order[count]].calls > 0) {
        const uint32_t number = budget->order[count++];

        used -= function_cost(budget, number, price);
        budget->functions[number].left_out = true;
    }
    begin_again(budget);
    return count;
}

/* ---- applying it ---- */

enum {
    HOLD_LOOKS = 20,
    HOLD_LOOK = 50000, /* nanoseconds; Linux adds about as much */
    HURRY = 20000000,  /* nanoseconds */
    MOMENT_HURRIED = 50000,
    MOMENT_CLOSE = 200000,
    CHUNKS_HURRIED = 4,  /* as many events as a decision needs */
    UNREAD_MOST = 20000, /* events: a reader that never catches up decides all the same */
    COLD_COST = 2500,    /* nanoseconds, found by measuring (docs/benchmarks.md) */
    COLD_AFTER = 40000,  /* ticks, in which other code has used the caches */
};

static int64_t nanoseconds_of(clockid_t clock)
{
    struct timespec now;

    return clock_gettime(clock, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec : 0;
}

/* Measures the nanoseconds that one event costs on this machine. The main part is reading the time
 * stamp counter, which is slower in a virtual machine. The code around it takes a quarter as long
 * in bench/trace's loop, and four fifths in code as large as an engine (docs/benchmarks.md). */
static double event_cost(void)
{
    enum { READINGS = 2000 };
    volatile uint64_t kept;
    int64_t least = INT64_MAX;

    for (int turn = 0; turn < 5; turn++) {
        const int64_t before = nanoseconds_of(CLOCK_MONOTONIC);
        int64_t passed;

        for (int i = 0; i < READINGS; i++)
            kept = trace_ticks();
        (void)kept;
        passed = nanoseconds_of(CLOCK_MONOTONIC) - before;
        least = passed < least ? passed : least;
    }
    return 1.8 * (double)least / READINGS;
}

static void read_often(struct trace_throttle *throttle)
{
    throttle->read_often_until = nanoseconds_of(CLOCK_MONOTONIC) + HURRY;
    throttle->is_close = true;
    trace_ring_open_chunks(throttle->ring, CHUNKS_HURRIED);
}

int64_t trace_throttle_moment(const struct trace_throttle *throttle, int64_t usual)
{
    int64_t moment;

    if (throttle->ring == NULL || !throttle->is_close)
        return usual;
    moment = nanoseconds_of(CLOCK_MONOTONIC) < throttle->read_often_until ? MOMENT_HURRIED
                                                                          : MOMENT_CLOSE;
    return moment < usual ? moment : usual;
}

int trace_throttle_open(struct trace_throttle *throttle, struct trace_ring *ring, uint64_t percent,
                        trace_throttle_note *note, void *context, struct error *error)
{
    const struct patch_plan *plan = trace_ring_plan(ring);

    *throttle = (struct trace_throttle){.note = note, .context = context};
    if (percent == 0 || plan == NULL)
        return 0;
    if (trace_budget_open(&throttle->budget, (double)percent / 100, plan->count, error) != 0)
        return -1;
    throttle->restored = calloc(plan->count + 1, sizeof *throttle->restored);
    if (throttle->restored == NULL)
        return error_memory(error, "the budget of a trace");
    throttle->budget.event_cost = event_cost();
    if (trace_ring_head(ring)->clock == TRACE_CLOCK_TSC) {
        throttle->budget.cold_cost = COLD_COST;
        throttle->budget.cold_after = COLD_AFTER;
    }
    throttle->ring = ring;
    throttle->process_id = (pid_t)trace_ring_head(ring)->process;
    /* Without the process's CPU time, elapsed time has to do. */
    if (clock_getcpuclockid(throttle->process_id, &throttle->clock) != 0)
        throttle->clock = CLOCK_MONOTONIC;
    throttle->process = nanoseconds_of(throttle->clock);
    read_often(throttle);
    return 0;
}

void trace_throttle_close(struct trace_throttle *throttle)
{
    trace_budget_close(&throttle->budget);
    trace_exclusions_free(&throttle->exclusions);
    free(throttle->restored);
    throttle->restored = NULL;
    throttle->ring = NULL;
}

static int leave_out(struct trace_throttle *throttle, const uint32_t *numbers, size_t count,
                     struct error *error)
{
    const int64_t now = nanoseconds_of(CLOCK_MONOTONIC);

    for (size_t i = 0; i < count; i++) {
        trace_ring_leave_out(throttle->ring, numbers[i]);
        if (trace_exclusions_add(&throttle->exclusions, 0, numbers[i], now, error) != 0)
            return -1;
    }
    return throttle->note != NULL && count > 0
               ? throttle->note(throttle->context, numbers, count, now, error)
               : 0;
}

/* ---- removing jumps ---- */

static void restore_all(struct trace_throttle *throttle)
{
    const int text = trace_text_open(throttle->process_id);
    struct trace_patch patch;

    if (text < 0)
        return;

    for (unsigned i = 1; i < throttle->budget.count; i++)
        if (throttle->budget.functions[i].left_out && !throttle->restored[i]) {
            throttle->restored[i] = true; /* a failure would be the same later */
            if (trace_ring_patch_of(throttle->ring, i, &patch))
                (void)trace_text_put(text, &patch, false);
        }
    throttle->to_restore = 0;
    close(text);
}

/* Waits until the process waits in the agent, where it executes none of its own text. Its many
 * events lead it there soon; without them, the jumps cost little. */
static bool waits_in_agent(const struct trace_throttle *throttle)
{
    const struct timespec moment = {.tv_nsec = HOLD_LOOK};

    for (int i = 0; i < HOLD_LOOKS; i++) {
        const uint64_t address = trace_ring_held_at(throttle->ring);

        if (address != 0 && trace_text_waits_at(throttle->process_id, address))
            return true;
        (void)nanosleep(&moment, NULL);
    }
    return false;
}

/* In the middle of a delivery: the functions left out are called most, so that even their three
 * jumps would exceed the budget. */
static void restore_now(struct trace_throttle *throttle)
{
    if (throttle->to_restore == 0 || !trace_ring_hold(throttle->ring))
        return;
    if (waits_in_agent(throttle))
        restore_all(throttle);
    trace_ring_continue(throttle->ring);
}

static struct trace_spent spent_since(const struct trace_throttle *throttle)
{
    const struct trace_reading *const reading = &throttle->reading;
    const double each = reading->events > 0 ? (double)reading->time / (double)reading->events : 0;

    return (struct trace_spent){nanoseconds_of(throttle->clock) - throttle->process,
                                (int64_t)(each * (double)throttle->budget.events)};
}

static void open_wide(struct trace_throttle *throttle)
{
    throttle->is_close = false;
    trace_ring_open_chunks(throttle->ring, UINT32_MAX);
}

static int decide(struct trace_throttle *throttle, struct error *error)
{
    const uint32_t *chosen;
    const size_t count = trace_budget_decide(&throttle->budget, spent_since(throttle), &chosen);
    int result;

    for (size_t i = 0; i < count; i++)
        throttle->to_restore += !throttle->restored[chosen[i]];
    restore_now(throttle);
    result = leave_out(throttle, chosen, count, error);
    if (count > 0)
        read_often(throttle);
    else
        open_wide(throttle);
    throttle->process = nanoseconds_of(throttle->clock);
    throttle->reading = (struct trace_reading){0};
    return result;
}

/* While more events are waiting, the reader's CPU time is all spent on them. */
static void time_reading(struct trace_throttle *throttle, size_t count)
{
    struct trace_reading *const reading = &throttle->reading;
    const int64_t now = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);

    if (reading->has_more) {
        reading->time += now - reading->last;
        reading->events += count;
    }
    reading->last = now;
    reading->has_more = trace_ring_has_more(throttle->ring);
}

int trace_throttle_add(struct trace_throttle *throttle, const uint64_t *events, size_t count,
                       struct error *error)
{
    if (throttle->ring == NULL)
        return 0;
    time_reading(throttle, count);
    trace_budget_add(&throttle->budget, events, count);
    /* The process's CPU time is as of now, so its events have to be, too. */
    if (!trace_budget_is_due(&throttle->budget) ||
        (throttle->budget.events < UNREAD_MOST && throttle->reading.has_more))
        return 0;
    return decide(throttle, error);
}

void trace_throttle_between(struct trace_throttle *throttle)
{
    if (throttle->ring != NULL && throttle->to_restore > 0 &&
        trace_text_is_idle(throttle->process_id))
        restore_all(throttle);
}

/* ---- words ---- */

static const char *function_name(void *context, uint32_t function)
{
    const struct trace_throttle *const throttle = context;
    const struct patch_plan *const plan = trace_ring_plan(throttle->ring);

    return function >= 1 && function <= plan->count ? plan->functions[function - 1].name : "?";
}

static uint64_t function_calls(void *context, uint32_t function)
{
    const struct trace_throttle *const throttle = context;

    return throttle->budget.functions[function].all;
}

int trace_throttle_put(struct trace_throttle *throttle, int64_t zero, struct buf *out,
                       struct error *error)
{
    const struct trace_exclusion_words words = {function_name, function_calls, throttle, zero};

    return throttle->ring != NULL
               ? trace_exclusions_put(&throttle->exclusions, 0, &words, out, error)
               : 0;
}
