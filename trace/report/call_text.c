/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/report/call_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sort/sort.h"
#include "trace/memory.h"

enum {
    PIECE = 1 << 16, /* bytes that are written at once */
    INDENT_MOST = 100,
};

enum call_text_kind { CALL_BEGINS, CALL_ENDS, CALL_WITHOUT_CALLS };

struct call_text_line {
    uint64_t time;   /* ticks since the trace began */
    uint64_t length; /* ticks; of a line that ends a call */
    uint32_t thread; /* index of its thread */
    uint32_t depth;
    uint16_t function;
    uint8_t kind; /* enum call_text_kind */
};

struct call_text_thread {
    uint32_t process, thread;
    uint64_t time;   /* of its last line; time does not go back */
    size_t last;     /* index of its last line and 1 */
    uint64_t *begun; /* owned: when the calls on its stack began */
    size_t depth, capacity;
};

/* ---- calls come ---- */

static int begin_text(void *context, struct error *error)
{
    (void)context;
    (void)error;
    return 0;
}

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

static void text_on_call(void *context, uint32_t function, uint64_t ticks)
{
    struct call_text *const text = context;
    struct call_text_thread *const thread = &text->threads[text->current];
    uint64_t *begun;

    advance_thread(text, thread, ticks);
    begun = array_reserve(thread->begun, &thread->capacity, thread->depth + 1, sizeof *begun);
    if (begun == NULL || add_line(text, CALL_BEGINS, function) == NULL) {
        text->failed = true;
        return;
    }
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
    if (line != NULL)
        line->length = thread->time >= begun ? thread->time - begun : 0;
}

void call_text_open(struct call_text *text, const struct archive *archive)
{
    *text = (struct call_text){.archive = archive};
    text->listener = (struct archive_listener){
        .calls = {.context = text, .begun = text_on_call, .ended = text_on_return},
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

    if (line->kind == CALL_BEGINS)
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

static void put_line(struct buf *out, const struct call_text *text,
                     const struct call_text_line *line)
{
    const unsigned depth = line->depth < INDENT_MOST ? line->depth : INDENT_MOST;
    const char *const name = text_name(text, line->function);

    put_length(out, text, line);
    buf_printf(out, " [%7" PRIu32 "] | %*s", text->threads[line->thread].thread, (int)depth * 2,
               "");
    if (line->kind == CALL_ENDS)
        buf_printf(out, "} /* %s */\n", name);
    else
        buf_printf(out, line->kind == CALL_BEGINS ? "%s() {\n" : "%s();\n", name);
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
    int result = sort_lines(text, error);

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
    free(text->lines);
    *text = (struct call_text){0};
}
