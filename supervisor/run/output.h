/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_OUTPUT_H
#define GASPIPE_SUPERVISOR_RUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/output/spool.h"
#include "gas/gas_model.h"
#include "supervisor/schedule/log/delivery_report.h"

/* The columns of gaspipe run that fit into a terminal. Widths are in characters. */
struct output_layout {
    int vat_width, method_width;
    bool cuts;         /* a longer name of a vat or method is cut to these widths */
    bool parts;        /* the columns of pipe, worker and kernel are there */
    bool result_below; /* a result has a line of its own */
    size_t result_width;
};

/* width: of the terminal; 0: stdout is none, and lines may have any length. more: what
 * the columns of block cost and gas take, if they are there. At a width below 74 and these, lines
 * are longer than the terminal. */
struct output_layout output_layout(size_t width, size_t more);

/* The sums in the summary. */
struct output_sums {
    int64_t deliveries, failed;
    int64_t compute, instructions; /* of the deliveries that report them */
    bool counted;                  /* some reported instructions */
    int64_t block_cost;            /* likewise */
    bool cost_known;
    int64_t gas_burnt; /* likewise */
    bool gas_known;
    double gas; /* of the deliveries whose gas is known */
    int64_t total, pipe, worker, kernel;
    struct cpu_waits cpu_waits; /* of the slow ones */
    struct model_waits waits;   /* the same by part, where it is known */
    int64_t results, rejected;
    int64_t rejected_later; /* those of the rejected whose delivery did not fail */
    int64_t unresolved;     /* not among the results */
};

/* How far lines have come on their way to stdout: up to a line, and the sums up to it. */
struct output_mark {
    size_t bytes; /* of the lines that are gathered */
    struct output_sums sums;
};

enum output_stage {
    OUTPUT_KEPT,      /* their cranks have ended and will not be undone */
    OUTPUT_COMMITTED, /* ... and are committed */
    OUTPUT_SYNCING,   /* ... and are being made durable */
    OUTPUT_STAGES,
};

/* The output of gaspipe run: columns for users, JSON lines for programs. */
struct output {
    bool json;
    bool terminal;               /* stdout is one, and gets columns */
    bool colour;                 /* a terminal, without NO_COLOR */
    bool costs;                  /* workers have the meter: a column of block cost */
    const struct gas_model *gas; /* prices deliveries; borrowed; NULL: nothing does */
    bool burns;                  /* there are contracts in WebAssembly: a column of gas burnt */
    struct output_layout layout;
    bool begun;  /* the columns have their headings */
    bool broken; /* stdout could not be written: nothing more is */
    bool closed; /* its reader went away */

    int64_t quarantined; /* vats, at the run's end */
    const char *sandbox; /* how workers are confined, for the summary; borrowed */
    const char *slog;    /* the slogfile, for the summary; borrowed; NULL: none */

    struct spool gathered;   /* lines that are not printed yet */
    struct buf line;         /* being made */
    struct output_sums sums; /* up to the last of these */
    struct output_mark marks[OUTPUT_STAGES];
    struct output_sums printed; /* up to the last line printed */
};

/* The outcome of a line's message. Texts are borrowed. */
struct output_result {
    const char *place; /* "FILE:LINE" */
    bool fulfilled;
    bool shown;        /* printed with its delivery; columns print it once */
    bool again;        /* the run before may have printed it */
    const char *value; /* JSON */
};

/* costs: workers have the meter. */
/* gas: prices deliveries; borrowed; NULL: nothing does. */
void output_init(struct output *output, bool json, bool costs, const struct gas_model *gas);

/* Adds the column of gas burnt, before anything is printed. */
void output_show_burnt(struct output *output);

/* Each adds lines. 0, or -1 with ERROR_SYSTEM when memory or the temporary file ran out. */
int output_delivery(struct output *output, const struct delivery_report *report,
                    struct error *error);
int output_result(struct output *output, const struct output_result *result, struct error *error);
/* Appends the result as a line of JSON, which is the same whenever it is printed. */
void output_result_write(struct buf *line, const struct output_result *result);
/* The message of the line at `place` has no result at the end of the run; `again`: the run before
 * may have said so. */
int output_unresolved(struct output *output, const char *place, bool again, struct error *error);

/* The lines at the stage before are at this one now; at OUTPUT_KEPT: all lines. */
void output_advance(struct output *output, enum output_stage stage);

/* Takes back the lines that are not kept: their crank is undone. */
void output_undo(struct output *output);

/* Prints the lines up to OUTPUT_SYNCING, which are durable. 0, or -1 with ERROR_SYSTEM when stdout
 * cannot be written. */
int output_flush(struct output *output, struct error *error);

/* Prints all lines. The same. */
int output_flush_all(struct output *output, struct error *error);

/* Drops the lines that are not printed: what they report is not committed. */
void output_drop(struct output *output);

void output_free(struct output *output);

/* Prints the summary; `seconds` is how long the run took. */
int output_summary(struct output *output, double seconds, struct error *error);

#endif
