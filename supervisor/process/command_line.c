/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/command_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

void command_line_add(struct command_line *line, const char *format, ...)
{
    char **words =
        array_reserve(line->words, &line->capacity, line->count + 2, sizeof *line->words);
    va_list args;

    if (words == NULL) {
        line->failed = true;
        return;
    }
    line->words = words;
    words[line->count] = NULL;
    va_start(args, format);
    if (vasprintf(&words[line->count], format, args) < 0) {
        line->failed = true;
        words[line->count] = NULL;
    } else {
        words[++line->count] = NULL;
    }
    va_end(args);
}

int command_line_check(const struct command_line *line, struct error *error)
{
    return line->failed ? error_memory(error, "a command line") : 0;
}

void command_line_free(struct command_line *line)
{
    for (size_t i = 0; i < line->count; i++)
        free(line->words[i]);
    free(line->words);
    *line = (struct command_line){0};
}
