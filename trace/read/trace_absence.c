/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_absence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"

enum {
    SHOWN = 8,         /* functions, for people */
    PERIODS_SHOWN = 3, /* of each */
};

static int absence_memory(struct error *error)
{
    return error_memory(error, "what a trace leaves out");
}

int trace_absences_note(struct trace_absences *absences, uint32_t process, uint32_t function,
                        bool out, int64_t at, struct error *error)
{
    struct trace_absence *list;

    for (size_t i = absences->count; i-- > 0;) {
        struct trace_absence *const before = &absences->list[i];

        if (before->process != process || before->function != function || before->end != 0)
            continue;
        before->end = out ? 0 : at;
        return 0;
    }
    if (!out)
        return 0;
    list = array_reserve(absences->list, &absences->capacity, absences->count + 1, sizeof *list);
    if (list == NULL)
        return absence_memory(error);
    absences->list = list;
    list[absences->count++] =
        (struct trace_absence){.function = function, .process = process, .begin = at};
    return 0;
}

void trace_absences_free(struct trace_absences *absences)
{
    free(absences->list);
    *absences = (struct trace_absences){0};
}

/* ---- words ---- */

struct absent {
    uint32_t function;
    uint64_t calls;
};

static int compare_absent(const void *left, const void *right)
{
    const struct absent *a = left, *b = right;

    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

static int compare_numbers(const void *left, const void *right)
{
    const struct absent *a = left, *b = right;

    return (a->function > b->function) - (a->function < b->function);
}

/* Each function once, those with most calls first. To be freed; NULL without memory. */
static struct absent *find_absent(const struct trace_absences *absences, uint32_t process,
                                  const struct trace_absence_words *words, size_t *count)
{
    struct absent *const all = calloc(absences->count + 1, sizeof *all);
    size_t found = 0, once = 0;

    *count = 0;
    if (all == NULL)
        return NULL;
    for (size_t i = 0; i < absences->count; i++)
        if (absences->list[i].process == process)
            all[found++] = (struct absent){absences->list[i].function, absences->list[i].calls};
    qsort(all, found, sizeof *all, compare_numbers);
    for (size_t i = 0; i < found; i++)
        if (i == 0 || all[i].function != all[once - 1].function)
            all[once++] = all[i];
    for (size_t i = 0; i < once && words->calls != NULL; i++)
        all[i].calls = words->calls(words->context, all[i].function);
    qsort(all, once, sizeof *all, compare_absent);
    *count = once;
    return all;
}

static double seconds_in(const struct trace_absence_words *words, int64_t at)
{
    return (double)(at - words->zero) / 1e9;
}

static void put_period(struct buf *out, const struct trace_absence_words *words,
                       const struct trace_absence *absence)
{
    buf_printf(out, "from %.3f s", seconds_in(words, absence->begin));
    if (absence->end == 0)
        buf_append_string(out, " on");
    else
        buf_printf(out, " to %.3f s", seconds_in(words, absence->end));
}

static void put_periods(struct buf *out, const struct trace_absences *absences, uint32_t process,
                        const struct trace_absence_words *words, uint32_t function)
{
    size_t count = 0;

    for (size_t i = 0; i < absences->count; i++) {
        if (absences->list[i].process != process || absences->list[i].function != function)
            continue;
        if (count++ >= PERIODS_SHOWN)
            continue;
        buf_append_string(out, count > 1 ? ", " : "");
        put_period(out, words, &absences->list[i]);
    }
    if (count > PERIODS_SHOWN)
        buf_printf(out, ", and %zu times more", count - PERIODS_SHOWN);
}

static void put_words(const struct trace_absences *absences, uint32_t process,
                      const struct trace_absence_words *words, const struct absent *absent,
                      size_t count, struct buf *out)
{
    buf_printf(out, "%zu function%s left out to keep the overhead, the most called: ", count,
               count == 1 ? "" : "s");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        buf_printf(out, "%s%s after %" PRIu64 " calls (", i > 0 ? ", " : "",
                   words->name(words->context, absent[i].function), absent[i].calls);
        put_periods(out, absences, process, words, absent[i].function);
        buf_append_byte(out, ')');
    }
    buf_append_string(out, count > SHOWN ? ", …" : "");
}

int trace_absences_put(const struct trace_absences *absences, uint32_t process,
                       const struct trace_absence_words *words, struct buf *out,
                       struct error *error)
{
    size_t count;
    struct absent *const absent = find_absent(absences, process, words, &count);

    if (absent == NULL)
        return absence_memory(error);
    if (count > 0)
        put_words(absences, process, words, absent, count, out);
    free(absent);
    return 0;
}

/* ---- JSON ---- */

static void put_json(struct buf *out, const struct trace_absences *absences, uint32_t process,
                     const struct trace_absence_words *words, uint32_t function)
{
    bool first = true;

    buf_append_string(out, ",\"periods\":[");
    for (size_t i = 0; i < absences->count; i++) {
        const struct trace_absence *const absence = &absences->list[i];

        if (absence->process != process || absence->function != function)
            continue;
        buf_printf(out, "%s[%.9f,", first ? "" : ",", seconds_in(words, absence->begin));
        if (absence->end == 0)
            buf_append_string(out, "null]");
        else
            buf_printf(out, "%.9f]", seconds_in(words, absence->end));
        first = false;
    }
    buf_append_string(out, "]}\n");
}

static void put_text(struct buf *out, const char *text)
{
    json_text_string(out, text, strlen(text));
}

int trace_absences_put_json(const struct trace_absences *absences, uint32_t process,
                            const char *name, const struct trace_absence_words *words,
                            struct buf *out, struct error *error)
{
    size_t count;
    struct absent *const absent = find_absent(absences, process, words, &count);

    if (absent == NULL)
        return absence_memory(error);
    for (size_t i = 0; i < count; i++) {
        buf_append_string(out, "{\"kind\":\"leftOut\",\"process\":");
        put_text(out, name);
        buf_append_string(out, ",\"function\":");
        put_text(out, words->name(words->context, absent[i].function));
        put_json(out, absences, process, words, absent[i].function);
    }
    free(absent);
    return 0;
}
