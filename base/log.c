/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/visible.h"

enum { LINE_SIZE = 4096 };

static const char *program = "gaspipe";

void log_name(const char *name)
{
    program = name;
}

void log_line(const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;
    size_t used;

    snprintf(line, sizeof line, "%s: ", program);
    used = strlen(line);
    va_start(args, format);
    vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    used = strlen(line);
    visible_bytes(line, used);
    line[used++] = '\n';
    /* If stderr cannot be written, there is no place left to report it. */
    (void)io_write_all(2, line, used);
}
