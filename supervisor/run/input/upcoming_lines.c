/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/input/upcoming_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "supervisor/run/input/line_message.h"

struct upcoming_line {
    int64_t number;
    struct delivery_line line; /* owned */
    int64_t vat; /* that gets its message; 0: what it and the lines after it do is not known */
};

/* 0 unless the line is a message to the root of a vat that lives. */
static int64_t vat_of_line(struct upcoming_lines *upcoming, const struct delivery_line *line)
{
    struct error ignored;
    bool found = false;
    int64_t vat;

    if (line->vat == NULL || line->to != NULL ||
        (line->kind != DELIVERY_LINE_SHORT &&
         (line->kind != DELIVERY_LINE_FULL || strcmp(line->target, "o+0") != 0)) ||
        kernel_vat_named(upcoming->kernel, line->vat, &vat, &found, &ignored) != 0)
        return 0;
    return found ? vat : 0;
}

/* False: there is none yet. A bad line is reported at its turn. */
static bool read_next_line(struct upcoming_lines *upcoming)
{
    int64_t number =
        upcoming->count > 0 ? upcoming->lines[upcoming->count - 1].number : upcoming->passed;
    struct upcoming_line *lines, *added;
    const char *text;
    struct error ignored;
    size_t length;

    if (!delivery_input_look(upcoming->input, &number, &text, &length))
        return false;
    lines = array_reserve(upcoming->lines, &upcoming->capacity, upcoming->count + 1, sizeof *lines);
    if (lines == NULL)
        return false;
    upcoming->lines = lines;
    added = &lines[upcoming->count++];
    *added = (struct upcoming_line){.number = number};
    if (delivery_line_parse(&added->line, text, length, &ignored) == 0)
        added->vat = vat_of_line(upcoming, &added->line);
    else
        added->line = (struct delivery_line){0};
    return true;
}

static bool find_upcoming_vat(void *context, size_t index, int64_t *vat)
{
    struct upcoming_lines *upcoming = context;

    if (!upcoming->available)
        return false;
    while (upcoming->count <= index)
        if (!read_next_line(upcoming))
            return false;
    *vat = upcoming->lines[index].vat;
    return *vat != 0;
}

static int queue_upcoming_line(void *context, size_t index, struct kernel *kernel,
                               struct error *error)
{
    const struct upcoming_lines *upcoming = context;
    const struct delivery_line *line = &upcoming->lines[index].line;
    char result[KERNEL_REF_SIZE];

    return line_message_queue(upcoming->results, kernel, line,
                              line->kind == DELIVERY_LINE_SHORT ? result : NULL, error);
}

struct speculation_source upcoming_lines_source(struct upcoming_lines *upcoming)
{
    return (struct speculation_source){
        .context = upcoming,
        .upcoming = find_upcoming_vat,
        .queue_upcoming = queue_upcoming_line,
    };
}

void upcoming_lines_pass(struct upcoming_lines *upcoming, int64_t number)
{
    size_t passed = 0;

    upcoming->passed = number;
    while (passed < upcoming->count && upcoming->lines[passed].number <= number)
        delivery_line_free(&upcoming->lines[passed++].line);
    if (passed > 0)
        memmove(upcoming->lines, upcoming->lines + passed,
                (upcoming->count - passed) * sizeof *upcoming->lines);
    upcoming->count -= passed;
}

void upcoming_lines_free(struct upcoming_lines *upcoming)
{
    upcoming_lines_pass(upcoming, INT64_MAX);
    free(upcoming->lines);
}
