/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_absence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"

enum { SHOWN = 8 }; /* functions, for people */

static int absence_memory(struct error *error)
{
    return error_memory(error, "what a trace leaves out");
}

int trace_absences_add(struct trace_absences *absences, uint32_t process, uint32_t function,
                       int64_t at, struct error *error)
{
    struct trace_absence *list;

    for (size_t i = 0; i < absences->count; i++)
        if (absences->list[i].process == process && absences->list[i].function == function)
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

static int compare_absences(const void *left, const void *right)
{
    const struct trace_absence *a = left, *b = right;

    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

/* Those of a process, those with most calls first. To be freed; NULL without memory. */
static struct trace_absence *find_absences(const struct trace_absences *absences, uint32_t process,
                                           const struct trace_absence_words *words, size_t *count)
{
    struct trace_absence *const all = calloc(absences->count + 1, sizeof *all);

    *count = 0;
    if (all == NULL)
        return NULL;
    for (size_t i = 0; i < absences->count; i++) {
        if (absences->list[i].process != process)
            continue;
        all[*count] = absences->list[i];
        if (words->calls != NULL)
            all[*count].calls = words->calls(words->context, all[*count].function);
        (*count)++;
    }
    qsort(all, *count, sizeof *all, compare_absences);
    return all;
}

static double seconds_in(const struct trace_absence_words *words, int64_t at)
{
    return (double)(at - words->zero) / 1e9;
}

int trace_absences_put(const struct trace_absences *absences, uint32_t process,
                       const struct trace_absence_words *words, struct buf *out,
                       struct error *error)
{
    size_t count;
    struct trace_absence *const all = find_absences(absences, process, words, &count);

    if (all == NULL)
        return absence_memory(error);
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

static void put_text(struct buf *out, const char *text)
{
    json_text_string(out, text, strlen(text));
}

int trace_absences_put_json(const struct trace_absences *absences, uint32_t process,
                            const char *name, const struct trace_absence_words *words,
                            struct buf *out, struct error *error)
{
    size_t count;
    struct trace_absence *const all = find_absences(absences, process, words, &count);

    if (all == NULL)
        return absence_memory(error);
    for (size_t i = 0; i < count; i++) {
        buf_append_string(out, "{\"kind\":\"leftOut\",\"process\":");
        put_text(out, name);
        buf_append_string(out, ",\"function\":");
        put_text(out, words->name(words->context, all[i].function));
        buf_printf(out, ",\"periods\":[[%.9f,null]]}\n", seconds_in(words, all[i].begin));
    }
    free(all);
    return 0;
}
