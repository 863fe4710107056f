/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_COMMAND_LINE_H
#define GASPIPE_SUPERVISOR_PROCESS_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The arguments of a process that is to be started, word by word. All zeros is the beginning. */
struct command_line {
    char **words; /* owned, and so is each; ends with NULL once there is one */
    size_t count, capacity;
    bool failed; /* memory ran out while a word was added */
};

void command_line_add(struct command_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Once all are there: -1 with ERROR_SYSTEM if memory ran out. */
int command_line_check(const struct command_line *line, struct error *error);

void command_line_free(struct command_line *line);

#endif
