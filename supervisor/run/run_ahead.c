/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that have not had their turn, for who begins with their deliveries before. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "supervisor/run/run_parts.h"

/* Of a line's message to the root of a vat; 0: it is none, and what comes behind it cannot be
 * known. */
static int64_t vat_of(struct run *run, const struct delivery_line *line)
{
    struct error ignored;
    bool found = false;
    int64_t vat;

    if (line->vat == NULL || line->to != NULL ||
        (line->kind != DELIVERY_LINE_SHORT &&
         (line->kind != DELIVERY_LINE_FULL || strcmp(line->target, "o+0") != 0)) ||
        kernel_vat_named(scheduler_kernel(run->scheduler), line->vat, &vat, &found, &ignored) != 0)
        return 0;
    return found ? vat : 0;
}

/* A bad line is told of at its turn. False: there is none yet. */
static bool read_one(struct run *run)
{
    struct run_ahead *ahead = &run->ahead;
    struct run_line_ahead *lines, *added;
    const char *text;
    struct error ignored;
    size_t length;
    int64_t number = ahead->count > 0 ? ahead->lines[ahead->count - 1].number : run->line_number;

    if (!delivery_input_look(run->input, &number, &text, &length))
        return false;
    lines = array_reserve(ahead->lines, &ahead->capacity, ahead->count + 1, sizeof *lines);
    if (lines == NULL)
        return false;
    ahead->lines = lines;
    added = &lines[ahead->count++];
    *added = (struct run_line_ahead){.number = number};
    if (delivery_line_parse(&added->line, text, length, &ignored) == 0)
        added->vat = vat_of(run, &added->line);
    else
        added->line = (struct delivery_line){0};
    return true;
}

bool run_coming(void *context, size_t index, int64_t *vat)
{
    struct run *run = context;

    if (!run->started || run->skipping)
        return false;
    while (run->ahead.count <= index)
        if (!read_one(run))
            return false;
    *vat = run->ahead.lines[index].vat;
    return *vat != 0;
}

int run_queue_coming(void *context, size_t index, struct kernel *kernel, struct error *error)
{
    struct run *run = context;
    const struct delivery_line *line = &run->ahead.lines[index].line;
    char result[KERNEL_REF_SIZE];

    return run_queue_message(run, kernel, line, line->kind == DELIVERY_LINE_SHORT ? result : NULL,
                             error);
}

void run_pass_ahead(struct run *run, int64_t number)
{
    struct run_ahead *ahead = &run->ahead;
    size_t passed = 0;

    while (passed < ahead->count && ahead->lines[passed].number <= number)
        delivery_line_free(&ahead->lines[passed++].line);
    if (passed > 0)
        memmove(ahead->lines, ahead->lines + passed,
                (ahead->count - passed) * sizeof *ahead->lines);
    ahead->count -= passed;
}

void run_free_ahead(struct run *run)
{
    run_pass_ahead(run, INT64_MAX);
    free(run->ahead.lines);
}
