/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_LINE_RESULTS_H
#define GASPIPE_SUPERVISOR_RUN_LINE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "store/store.h"

/* The results that input lines wait for, and the names that lines gave to theirs, each with the
 * kernel's promise, in the store's keys input.result.LINE and input.id.ID. input.reported.LINE
 * holds a line's outcome until it was printed: "fulfilled", "rejected" or "unresolved", the input's
 * name as a JSON string, and capdata or null, separated by spaces. */
struct line_result {
    int64_t line;
    char promise[KERNEL_REF_SIZE];
    bool named; /* later lines can refer to it, so it is kept when it is settled */
    bool shown; /* the outcome was printed with the delivery */
    bool open;  /* it was reported as unresolved */
};

/* How far outcomes have come: on their way to stdout, where they are printed when durable. */
enum results_stage {
    RESULTS_COMMITTED,
    RESULTS_SYNCING,
    RESULTS_PRINTED,
    RESULTS_PUBLISHED, /* where results are published; else the same as printed */
    RESULTS_STAGES
};

/* The outcome of a line. Texts are borrowed for the call. */
struct line_outcome {
    const char *input; /* its name */
    int64_t line;
    bool shown; /* it was printed with the delivery */
    bool again; /* the run before may have printed it */
    enum kernel_promise state;
    const char *capdata; /* JSON; "null" where it is not settled */
};

struct line_results {
    const char *input; /* its name, for messages */
    struct store *store;
    struct kernel *kernel;
    bool release; /* objects that only results refer to are garbage */
    void (*report)(void *context, const struct line_outcome *outcome); /* within the calls below */
    void *context;
    struct line_result *waiting; /* in the order of their lines */
    size_t count, capacity;
    int64_t *reported; /* lines whose outcome is in the store */
    size_t reported_count, reported_capacity;
    int64_t highest;                /* line of any that waits or was reported, now or before */
    size_t reached[RESULTS_STAGES]; /* how many of these, from the first, came to each stage */
};

/* Reads the results that are not settled, and those that may not have been printed, into a struct
 * with the input's name, the store, the kernel and report(), which are borrowed. */
int line_results_open(struct line_results *results, struct error *error);
void line_results_free(struct line_results *results);

/* `id` is its name, or NULL; ERROR_INPUT if the name exists. Within a transaction. */
int line_results_add(struct line_results *results, int64_t line, const char *id,
                     const char promise[KERNEL_REF_SIZE], struct error *error);

/* The promise of the line with that name. */
int line_results_find(struct line_results *results, const char *id, char promise[KERNEL_REF_SIZE],
                      bool *found, struct error *error);

/* The outcome of this promise was printed with its delivery. */
void line_results_shown(struct line_results *results, const char *promise);

/* A line waits for this promise, and it is rejected. */
int line_results_is_rejected(struct line_results *results, const char *promise, bool *rejected,
                             struct error *error);

/* Calls report() for each result that is settled, and removes it. Within a transaction. */
int line_results_settle(struct line_results *results, struct error *error);

/* At the input's end: calls report() for each unsettled result that was not reported as unresolved.
 * A later run may still settle it. Within a transaction. */
int line_results_leave_open(struct line_results *results, struct error *error);

/* Calls report() again for the outcomes that may not have been printed. */
int line_results_report_again(struct line_results *results, struct error *error);

/* The outcomes at the stage before are at this one now; at the first: all outcomes so far. */
void line_results_advance(struct line_results *results, enum results_stage stage);

/* As many more, in their order, were published. */
void line_results_add_published(struct line_results *results, size_t count);

/* Gives a refused line this outcome, `capdata`, and calls report(). Within a transaction. */
int line_results_refuse(struct line_results *results, int64_t line, const char *capdata,
                        struct error *error);

/* Forgets the outcomes that were printed and published. Within a transaction. */
int line_results_forget_printed(struct line_results *results, struct error *error);

/* Forgets all results, names and outcomes. Within a transaction. */
int line_results_clear(struct line_results *results, struct error *error);

#endif
