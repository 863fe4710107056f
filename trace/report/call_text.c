/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/report/call_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sort/sort.h"
#include "trace/memory.h"
#include "trace/read/trace_requests.h"

enum {
    PIECE = 1 << 16, /* bytes that are written at once */
    INDENT_MOST = 100,
};

enum call_text_kind { CALL_BEGINS, CALL_ENDS, CALL_WITHOUT_CALLS, REQUEST_BEGINS, REQUEST_ENDS };

struct call_text_line {
    uint64_t time;   /* ticks since the trace began */
    uint64_t length; /* ticks; of a line that ends a call */
    uint32_t thread; /* index of its thread */
    uint32_t depth;
    uint32_t arguments; /* index of the first in call_text.values; of a request, its delivery */
    uint32_t result;    /* index of it and 1; 0: unknown */
    uint16_t function;
    uint8_t kind; /* enum call_text_kind */
    uint8_t argument_count;
};

struct call_text_thread {
    uint32_t process, thread;
    uint64_t time;            /* of its last line; time does not go back */
    struct call_text_values { /* of the call that comes, or ends */
        uint32_t function;    /* 0: none */
        unsigned count;
        uint64_t arguments[TRACE_ARGUMENTS_MAX], result;
        bool has_result;
    } values;
    size_t last;     /* index of its last line and 1 */
    uint64_t *begun; /* owned: when the calls on its stack began */
    size_t depth, capacity;
};

/* ---- calls come ---- */

static int text_on_thread(void *context, uint32_t process, uint32_t thread, struct error *error)
{
    struct call_text *const text = context;
    struct call_text_thread *threads = text->threads;
    size_t i = 0;

    while (i < text->thread_count && (threads[i].process != process || threads[i].thread != thread))
        i++;
    text->current = i;
    if (i == text->thread_count) {
        threads = array_reserve(threads, &text->thread_capacity, i + 1, sizeof *threads);
        if (threads == NULL)
            return error_memory(error, "the text of a trace");
        text->threads = threads;
        threads[text->thread_count++] =
            (struct call_text_thread){.process = process, .thread = thread};
    }
    return text->failed ? error_memory(error, "the text of a trace") : 0;
}

/* Advances the thread to these ticks, of which only the lowest 48 bits count. */
static void advance_thread(const struct call_text *text, struct call_text_thread *thread,
                           uint64_t ticks)
{
    const bool is_time = text->archive->clock.kind == TRACE_CLOCK_TSC;
    const uint64_t passed =
        is_time ? (ticks - text->archive->clock.first.ticks) & TRACE_TIME_MASK : ticks;

    if (ticks != 0 && passed <= TRACE_TIME_MASK / 2 && (passed > thread->time || !is_time))
        thread->time = passed;
}

/* NULL if out of memory. */
static struct call_text_line *add_line(struct call_text *text, enum call_text_kind kind,
                                       uint32_t function)
{
    struct call_text_thread *const thread = &text->threads[text->current];
    struct call_text_line *const lines =
        array_reserve(text->lines, &text->line_capacity, text->line_count + 1, sizeof *lines);

    if (lines == NULL) {
        text->failed = true;
        return NULL;
    }
    text->lines = lines;
    lines[text->line_count] = (struct call_text_line){
        .time = thread->time,
        .thread = (uint32_t)text->current,
        .depth = (uint32_t)thread->depth,
        .function = (uint16_t)function,
        .kind = (uint8_t)kind,
    };
    thread->last = ++text->line_count;
    return &lines[text->line_count - 1];
}

static void text_on_value(void *context, uint32_t function, unsigned which, uint64_t value)
{
    struct call_text *const text = context;
    struct call_text_values *const values = &text->threads[text->current].values;

    if (which <= 1 || values->function != function)
        *values = (struct call_text_values){.function = function};
    if (which == 0) {
        values->result = value;
        values->has_result = true;
    } else if (which == values->count + 1 && which <= TRACE_ARGUMENTS_MAX) {
        values->arguments[values->count++] = value;
    }
}

/* Its index; UINT32_MAX if out of memory. */
static uint32_t add_text_value(struct call_text *text, uint64_t value)
{
    uint64_t *const values =
        array_reserve(text->values, &text->value_capacity, text->value_count + 1, sizeof *values);

    if (values == NULL || text->value_count >= UINT32_MAX - 1) {
        text->failed = true;
        return UINT32_MAX;
    }
    text->values = values;
    values[text->value_count] = value;
    return (uint32_t)text->value_count++;
}

/* Moves the values that came for the line's function to the line. */
static void take_text_values(struct call_text *text, struct call_text_line *line)
{
    struct call_text_values *const values = &text->threads[text->current].values;

    if (values->function == line->function && values->has_result) {
        line->result = add_text_value(text, values->result) + 1;
    } else if (values->function == line->function && values->count > 0) {
        line->arguments = (uint32_t)text->value_count;
        line->argument_count = (uint8_t)values->count;
        for (unsigned i = 0; i < values->count; i++)
            (void)add_text_value(text, values->arguments[i]);
    }
    values->function = 0;
}

static void text_on_call(void *context, uint32_t function, uint64_t ticks)
{
    struct call_text *const text = context;
    struct call_text_thread *const thread = &text->threads[text->current];
    struct call_text_line *line;
    uint64_t *begun;

    advance_thread(text, thread, ticks);
    begun = array_reserve(thread->begun, &thread->capacity, thread->depth + 1, sizeof *begun);
    line = begun != NULL ? add_line(text, CALL_BEGINS, function) : NULL;
    if (line == NULL) {
        text->failed = true;
        return;
    }
    take_text_values(text, line);
    thread->begun = begun;
    begun[thread->depth++] = thread->time;
}

static void text_on_return(void *context, uint32_t function, uint64_t ticks)
{
    struct call_text *const text = context;
    struct call_text_thread *const thread = &text->threads[text->current];
    struct call_text_line *line;
    uint64_t begun;

    if (thread->depth == 0)
        return;
    advance_thread(text, thread, ticks);
    begun = thread->begun[--thread->depth];
    line = &text->lines[thread->last - 1];
    if (line->kind == CALL_BEGINS && line->depth == thread->depth)
        line->kind = CALL_WITHOUT_CALLS;
    else
        line = add_line(text, CALL_ENDS, function);
    /* A count may have started again meanwhile. */
    if (line == NULL)
        return;
    line->length = thread->time >= begun ? thread->time - begun : 0;
    take_text_values(text, line);
}

/* ---- requests ---- */

/* Lines for requests, before or after those of calls at the same time. */
static int add_request_lines(struct call_text *text, enum call_text_kind kind, struct error *error)
{
    const struct archive *const archive = text->archive;

    for (size_t i = 0; i < archive->delivery_count; i++) {
        const struct archive_request *const request = &archive->deliveries[i].request;
        struct call_text_line *line;

        if (request->thread == 0)
            continue;
        if (text_on_thread(text, request->process, request->thread, error) != 0)
            return -1;
        line = add_line(text, kind, 0);
        if (line == NULL)
            return error_memory(error, "the text of a trace");
        line->time = ((kind == REQUEST_BEGINS ? request->begin : request->end) -
                      archive->clock.first.ticks) &
                     TRACE_TIME_MASK;
        line->length = (request->end - request->begin) & TRACE_TIME_MASK;
        line->depth = 0;
        line->arguments = (uint32_t)i;
    }
    return 0;
}

static int begin_text(void *context, struct error *error)
{
    return add_request_lines(context, REQUEST_BEGINS, error);
}

void call_text_open(struct call_text *text, const struct archive *archive)
{
    *text = (struct call_text){.archive = archive};
    text->listener = (struct archive_listener){
        .calls = {.context = text,
                  .begun = text_on_call,
                  .ended = text_on_return,
                  .value = text_on_value},
        .begin = begin_text,
        .thread = text_on_thread,
    };
}

/* ---- the text ---- */

static int by_line_time(const void *a, const void *b)
{
    const struct call_text_line *const x = a, *const y = b;

    return x->time < y->time ? -1 : x->time > y->time;
}

/* Lines of one thread stay in their order. Threads have no common clock but time. */
static int sort_lines(struct call_text *text, struct error *error)
{
    void *scratch;

    if (text->archive->clock.kind != TRACE_CLOCK_TSC)
        return 0;
    scratch = calloc(text->line_count + 1, sizeof *text->lines);
    if (scratch == NULL)
        return error_memory(error, "the text of a trace");
    sort_stable(text->lines, text->line_count, sizeof *text->lines, by_line_time, scratch);
    free(scratch);
    return 0;
}

static const char *text_name(const struct call_text *text, uint32_t function)
{
    return function >= 1 && function <= text->archive->function_count
               ? text->archive->functions[function - 1].name
               : "?";
}

static void put_length(struct buf *out, const struct call_text *text,
                       const struct call_text_line *line)
{
    const double nanoseconds = trace_clock_duration(&text->archive->clock, line->length);

    if (line->kind == CALL_BEGINS || line->kind == REQUEST_BEGINS)
        buf_printf(out, "%12s", "");
    else if (text->archive->clock.kind != TRACE_CLOCK_TSC)
        buf_printf(out, "%12" PRIu64, line->length);
    else if (nanoseconds < 1e6)
        buf_printf(out, "%9.3f us", nanoseconds / 1e3);
    else if (nanoseconds < 1e9)
        buf_printf(out, "%9.3f ms", nanoseconds / 1e6);
    else
        buf_printf(out, "%9.3f s ", nanoseconds / 1e9);
}

static void put_text_value(struct buf *out, uint64_t value)
{
    char words[TRACE_VALUE_WORDS];

    trace_value_words(words, value);
    buf_append_string(out, words);
}

static void put_arguments(struct buf *out, const struct call_text *text,
                          const struct call_text_line *line)
{
    for (unsigned i = 0; i < line->argument_count; i++) {
        if (i > 0)
            buf_append_string(out, ", ");
        put_text_value(out, text->values[line->arguments + i]);
    }
}

static void put_call_result(struct buf *out, const struct call_text *text,
                            const struct call_text_line *line)
{
    if (line->result == 0)
        return;
    buf_append_string(out, " = ");
    put_text_value(out, text->values[line->result - 1]);
}

static void put_line(struct buf *out, const struct call_text *text,
                     const struct call_text_line *line)
{
    const unsigned depth = line->depth < INDENT_MOST ? line->depth : INDENT_MOST;
    const char *const name = text_name(text, line->function);

    put_length(out, text, line);
    buf_printf(out, " [%7" PRIu32 "] | %*s", text->threads[line->thread].thread, (int)depth * 2,
               "");
    if (line->kind == REQUEST_BEGINS || line->kind == REQUEST_ENDS) {
        buf_printf(out, "/* %s %s */\n", text->archive->deliveries[line->arguments].name,
                   line->kind == REQUEST_BEGINS ? "begins" : "ends");
        return;
    }
    if (line->kind == CALL_ENDS) {
        buf_append_byte(out, '}');
        put_call_result(out, text, line);
        buf_printf(out, "%s /* %s */\n", line->result != 0 ? ";" : "", name);
        return;
    }
    buf_printf(out, "%s(", name);
    put_arguments(out, text, line);
    buf_append_byte(out, ')');
    put_call_result(out, text, line);
    buf_append_string(out, line->kind == CALL_BEGINS ? " {\n" : ";\n");
}

static void put_head(struct buf *out, const struct call_text *text)
{
    const enum trace_clock_kind kind = text->archive->clock.kind;

    buf_printf(out, "# %10s [ thread] | function\n",
               kind == TRACE_CLOCK_TSC ? "duration" : trace_clock_names[kind]);
}

int call_text_put(struct call_text *text, call_text_write *write, void *context,
                  struct error *error)
{
    struct buf out = {0};
    int result = add_request_lines(text, REQUEST_ENDS, error);

    if (result == 0)
        result = sort_lines(text, error);

    put_head(&out, text);
    for (size_t i = 0; i < text->line_count && result == 0; i++) {
        put_line(&out, text, &text->lines[i]);
        if (out.length < PIECE && !buf_failed(&out))
            continue;
        result = buf_failed(&out) ? error_memory(error, "the text of a trace")
                                  : write(context, &out, error);
        buf_clear(&out);
    }
    if (result == 0)
        result = buf_failed(&out) ? error_memory(error, "the text of a trace")
                                  : write(context, &out, error);
    buf_free(&out);
    return result;
}

void call_text_close(struct call_text *text)
{
    for (size_t i = 0; i < text->thread_count; i++)
        free(text->threads[i].begun);
    free(text->threads);
    free(text->values);
    free(text->lines);
    *text = (struct call_text){0};
}
