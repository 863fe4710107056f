/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COUNT_TEXT_H
#define GASPIPE_SUPERVISOR_COUNT_COUNT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Parts of the reports of both counters. `status` is waitpid(2)'s; `over_limit` names the limit
 * that ended the run, or is NULL. */

/* Regions in a table; JSON lists all. */
enum { COUNT_REGIONS_SHOWN = 20 };

/* How a run ended, in words: "exit status 1", ... */
void count_text_end(struct buf *out, int status, const char *over_limit);

/* The first lines of a table: what was counted, and how it ended. `arguments` ends with NULL. */
void count_text_heading(struct buf *out, const char *const *arguments, int status,
                        const char *over_limit);

/* The number with commas, right-aligned in `width` columns. */
void count_text_grouped(struct buf *out, int width, uint64_t number);

/* A line of a table: the number with commas, right-aligned, and what it is. */
void count_text_number(struct buf *out, uint64_t number, const char *what);

/* The line for regions that are not shown, if any. */
void count_text_more_regions(struct buf *out, size_t count);

/* {"kind":"run","run":N,"status":N,"signal":N: run `index` from 0, as JSON, to be continued. */
void count_text_run(struct buf *out, size_t index, int status);

/* {"kind":"summary","program":[...],"runs":N,"agree":B, to be continued. */
void count_text_summary(struct buf *out, const char *const *arguments, size_t runs, bool agree);

/* A string of JSON. */
void count_text_string(struct buf *out, const char *string);

#endif
