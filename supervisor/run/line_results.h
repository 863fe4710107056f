/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_LINE_RESULTS_H
#define GASPIPE_SUPERVISOR_LINE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "store/store.h"

/*
 * The results that the lines of the deliveries wait for, and the names that lines
 * gave to theirs. Both are in the store: input.result.LINE and input.id.ID, with the
 * kernel's promise. What came of a line is in it, too, until it is known that it was
 * printed: input.told.LINE, "fulfilled" or "rejected", a blank, and capdata.
 */
struct line_result {
    int64_t line;
    char promise[KERNEL_REF_SIZE];
    bool named; /* later lines can refer to it: it is kept when it is settled */
    bool shown; /* what came of it was told with the delivery */
};

struct line_results {
    struct store *store;
    struct kernel *kernel;
    struct line_result *waiting; /* in the order of their lines */
    size_t count, capacity;
    int64_t *told; /* lines of which the store has what was told */
    size_t told_count, told_capacity;
    size_t printed; /* so many of them, the first ones, are printed */
};

/* What came of a line. Texts are borrowed for the call. */
struct line_outcome {
    int64_t line;
    bool shown; /* it was told with the delivery */
    bool again; /* it may have been told by the run before */
    bool fulfilled;
    const char *capdata; /* JSON */
};

/* Reads those that are not settled yet, and those that may not have been printed. Store and kernel
 * are borrowed. */
int line_results_open(struct line_results *results, struct store *store, struct kernel *kernel,
                      struct error *error);
void line_results_free(struct line_results *results);

/* `id`: its name, or NULL; one that there is already is ERROR_INPUT. Within a transaction. */
int line_results_add(struct line_results *results, int64_t line, const char *id,
                     const char promise[KERNEL_REF_SIZE], struct error *error);

/* The promise of the line of that name. */
int line_results_find(struct line_results *results, const char *id, char promise[KERNEL_REF_SIZE],
                      bool *found, struct error *error);

/* What came of this promise was told with its delivery. */
void line_results_shown(struct line_results *results, const char *promise);

/* Tells those that are settled by now, and waits for them no more. Within a transaction. */
int line_results_settle(struct line_results *results,
                        void (*told)(void *context, const struct line_outcome *outcome),
                        void *context, struct error *error);

/* Tells once more what may not have been printed. */
int line_results_tell_again(struct line_results *results,
                            void (*told)(void *context, const struct line_outcome *outcome),
                            void *context, struct error *error);

/* All that was told is printed, and durable. */
void line_results_printed(struct line_results *results);

/* Forgets what was printed. Within a transaction. */
int line_results_forget_printed(struct line_results *results, struct error *error);

/* Waits for none and forgets all names, and what was told. Within a transaction. */
int line_results_clear(struct line_results *results, struct error *error);

#endif
