/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_UNITS_H
#define GASPIPE_TOOLS_OUTPUT_UNITS_H

#include <stdint.h>

#include "base/buf.h"

/* Numbers for people: three digits and a unit. */

enum { UNITS_SIZE = 24 };

/* "950 ns", "76.1 µs", "1.23 ms", "2.50 s", "123 s" */
void units_time(char text[UNITS_SIZE], uint64_t nanoseconds);

/* "950", "12.3 k", "1.23 M", "45.6 G" */
void units_count(char text[UNITS_SIZE], uint64_t count);

/* Appends text with blanks before it, `width` columns in all. */
void units_pad(struct buf *out, const char *text, size_t width);

/* A field of comma-separated values, in quotes where it needs them; a formula for no spreadsheet.
 */
void units_csv_text(struct buf *out, const char *text);

/*
 * Nanoseconds since the epoch as a date and time of UTC to the microsecond, as --since
 * takes it: 2026-11-21T00:03:41.232871Z. Seconds since the epoch before it and where the
 * C library knows no date.
 */
void units_append_moment(struct buf *out, int64_t nanoseconds);

#endif
