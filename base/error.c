/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int(error_set)(struct error *error, enum error_kind kind, const char *format, ...)
{
    va_list args;

    error->kind = kind;
    error->is_damage = false;
    error->damaged_vat = 0;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return -1;
}

int(error_system)(struct error *error, int errnum, const char *format, ...)
{
    va_list args;
    size_t used;

    error->kind = ERROR_SYSTEM;
    error->is_damage = false;
    error->damaged_vat = 0;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used, ": %s%s", strerror(errnum),
             errnum == EFBIG ? " (ulimit -f)" : "");
    return -1;
}

int(error_memory)(struct error *error, const char *what)
{
    return error_set(error, ERROR_SYSTEM, "out of memory for %s", what);
}

int(error_prefix)(struct error *error, const char *format, ...)
{
    char cause[ERROR_TEXT_SIZE];
    va_list args;
    size_t used;

    memcpy(cause, error->text, sizeof cause);
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    used = strlen(error->text);
    /* Keeps the context and cuts a cause that does not fit. */
    snprintf(error->text + used, sizeof error->text - used, ": %.*s",
             (int)(sizeof error->text - used), cause);
    return -1;
}
