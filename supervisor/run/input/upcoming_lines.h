/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_INPUT_UPCOMING_LINES_H
#define GASPIPE_SUPERVISOR_RUN_INPUT_UPCOMING_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/run/input/delivery_input.h"
#include "supervisor/run/input/delivery_line.h"
#include "supervisor/run/line_results.h"
#include "supervisor/schedule/speculation/speculation.h"

/* With several jobs: the lines after the last one that had its turn, for speculation on them. */
struct upcoming_lines {
    struct delivery_input *input; /* borrowed, as the next two */
    struct kernel *kernel;
    struct line_results *results;
    bool available;              /* false: what the lines will be is not known yet */
    int64_t passed;              /* number of the last line that had its turn */
    struct upcoming_line *lines; /* owned, in their order */
    size_t count, capacity;
};

struct speculation_source upcoming_lines_source(struct upcoming_lines *upcoming);

/* The line has its turn. */
void upcoming_lines_pass(struct upcoming_lines *upcoming, int64_t number);

void upcoming_lines_free(struct upcoming_lines *upcoming);

#endif
