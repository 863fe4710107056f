/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COMPARE_COMPARE_PRINT_H
#define GASPIPE_SUPERVISOR_COUNT_COMPARE_COMPARE_PRINT_H

#include "base/buf.h"
#include "supervisor/count/compare/compare.h"

struct compare_summary {
    double mean, deviation, least, most; /* of a sample; deviation 0 for a single value */
};

/* There is at least one value. */
struct compare_summary compare_summarise(const struct compare_times *times);

/* What was found of at least one command, all of which were timed equally often. Ratios are to the
 * one with the fewest instructions. Failure stays in the buffer. */
void compare_print_text(struct buf *out, const struct compare_command *commands, size_t count);
void compare_print_json(struct buf *out, const struct compare_command *commands, size_t count);

/* A table of Markdown; CSV with seconds, a row for each command. */
void compare_print_markdown(struct buf *out, const struct compare_command *commands, size_t count);
void compare_print_csv(struct buf *out, const struct compare_command *commands, size_t count);

#endif
