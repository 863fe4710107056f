/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_OUTPUT_H
#define GASPIPE_SUPERVISOR_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/schedule/log/delivery_report.h"

/* What the summary adds up. */
struct output_sums {
    int64_t deliveries, failed;
    int64_t compute, instructions; /* of those that say; */
    bool counted;                  /* some did */
    int64_t total, pipe, worker, kernel;
    int64_t results, rejected;
};

/* What gaspipe run prints on stdout: columns for people, JSON lines for programs. */
struct output {
    bool json;
    bool colour; /* people at a terminal, without NO_COLOR */
    bool begun;  /* the columns have their headings */

    const char *sandbox; /* of the workers, in words, for the summary; borrowed */

    struct buf gathered;        /* what is not printed yet, */
    struct output_sums sums;    /* and what it comes to with that */
    size_t kept;                /* bytes of it that have come to be, */
    struct output_sums keeps;   /* and what it comes to with those */
    struct output_sums printed; /* what is */
};

/* What came of a line's message. Texts are borrowed. */
struct output_result {
    const char *place; /* "FILE:LINE" */
    bool fulfilled;
    bool shown;        /* with its delivery: columns say it once */
    bool again;        /* the run before may have told it */
    const char *value; /* JSON */
};

void output_init(struct output *output, bool json);

/* Each gathers lines. 0, or -1 with ERROR_SYSTEM when memory ran out. */
int output_delivery(struct output *output, const struct delivery_report *report,
                    struct error *error);
int output_result(struct output *output, const struct output_result *result, struct error *error);

/* What has gathered up to now has come to be. */
void output_keep(struct output *output);

/* Prints what was kept. 0, or -1 with ERROR_SYSTEM when stdout cannot be written. */
int output_flush(struct output *output, struct error *error);

/* Drops what was gathered and not printed: it never came to be. */
void output_drop(struct output *output);

void output_free(struct output *output);

/* The last of all, printed at once; `seconds` is how long the run took. */
int output_summary(struct output *output, double seconds, struct error *error);

#endif
