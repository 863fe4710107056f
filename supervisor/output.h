/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_OUTPUT_H
#define GASPIPE_SUPERVISOR_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/report.h"

/* What gaspipe run prints on stdout: columns for people, JSON lines for programs. */
struct output {
    bool json;
    bool colour; /* people at a terminal, without NO_COLOR */
    bool begun;  /* the columns have their headings */

    /* What the summary adds up. */
    int64_t deliveries, failed;
    int64_t compute, instructions; /* of those that say; */
    bool counted;                  /* some did */
    int64_t total, pipe, worker, kernel;
};

void output_init(struct output *output, bool json);

/* Each writes at once. 0, or -1 with ERROR_SYSTEM when stdout cannot be written. */
int output_delivery(struct output *output, const struct delivery_report *report,
                    struct error *error);

/* The last of all; `seconds` is how long the run took. */
int output_summary(const struct output *output, double seconds, struct error *error);

#endif
