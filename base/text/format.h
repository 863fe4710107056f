/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_TEXT_FORMAT_H
#define GASPIPE_BASE_TEXT_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/*
 * snprintf(3) for the short texts of which each crank makes hundreds, in a tenth of its time:
 * %s, %.*s, %c, %d, %u, %zu, %ld, %lu, %lld, %llu and %% are written here, a format with anything
 * else (widths, flags, hexadecimal) is handed to vsnprintf(3).
 *
 * Both return the length of the whole text, of which at most size - 1 bytes and a '\0' were
 * written; size 0: nothing was. Negative only where vsnprintf(3) is.
 */
int format_text(char *at, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int format_arguments(char *at, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
