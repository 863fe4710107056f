/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_LINES_H
#define GASPIPE_SUPERVISOR_RUN_RUN_LINES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "store/store.h"
#include "supervisor/run/delivery_input.h"
#include "supervisor/run/delivery_line.h"
#include "supervisor/run/line_results.h"
#include "supervisor/run/output.h"
#include "supervisor/run/run_options.h"
#include "supervisor/run/run_stream.h"
#include "supervisor/schedule/scheduler.h"

/*
 * The input's lines: takes them in one after the other, from the place where the store is,
 * queues what they ask for, lets the scheduler go, and prints the results of their messages.
 */

enum { RUN_LINES_PLACE_SIZE = PATH_MAX + 24 };

struct run_lines_listener {
    void *context;
    /* The whole input was delivered, and the store says so. */
    void (*ended)(void *context);
    void (*failed)(void *context, const struct error *error);
    /* A message failed or was rejected, and this was printed; the lines continue. */
    void (*message_failed)(void *context);
};

struct run_lines {
    /* Set by the owner before run_lines_open(), borrowed. */
    const struct run_options *options;
    uv_loop_t *loop;
    struct store *store;
    struct scheduler *scheduler;
    struct output *output;
    struct run_lines_listener listener;

    struct run_stream *stream; /* NULL: the lines are of a file */
    struct delivery_input *input;
    struct input_place place;
    struct line_results results;
    struct upcoming_lines upcoming;
    uv_idle_t turn; /* asks for the next line, from the loop */
    bool turn_open;

    bool started;  /* the vats' startVat are over: lines are delivered */
    bool skipping; /* lines that the store has already */
    bool input_ended;
    bool stopped;
    bool held;           /* no line is asked for until results are published */
    uint64_t queued;     /* lines of the batch so far */
    bool delivering;     /* the batch is complete, and the scheduler goes */
    int64_t line_number; /* of the last line */
};

/* Opens the input and prints results that the run before may not have printed. */
int run_lines_open(struct run_lines *lines, struct error *error);

/* The kernel has nothing to do: settles results and asks for the next line. */
void run_lines_continue(struct run_lines *lines);

/* ERROR_INPUT if a line of a regular file names an unknown vat. */
int run_lines_check_names(struct run_lines *lines, struct error *error);

/* Returns true if the run before ended within a batch of lines. The rest of the batch is accepted
 * before the first crank, since other batches would change the order of cranks. */
bool run_lines_in_batch(const struct run_lines *lines);

/* The batch of the run before ends as it is. Within a transaction. */
int run_lines_end_batch(struct run_lines *lines, struct error *error);

/* Accepts no further line. With `keep`, an unfinished batch is kept for the next run. */
int run_lines_stop(struct run_lines *lines, bool keep, struct error *error);

/*
 * After the last commit: publishes what is durable, where results are published, and takes the
 * outcomes that are known to others out of the store.
 */
int run_lines_finish(struct run_lines *lines, struct error *error);

/* Closes the input and the handle on the loop; without run_lines_open() it does nothing. */
void run_lines_close(struct run_lines *lines);

/* When the loop has run to its end. */
void run_lines_free(struct run_lines *lines);

/* A delivery ended. Its result was printed with it, and need not be again. */
void run_lines_shown(struct run_lines *lines, const struct delivery_report *report);

/* A delivery of a line succeeded, and its result was rejected in it. */
int run_lines_is_rejected(struct run_lines *lines, const struct delivery_report *report,
                          bool *rejected, struct error *error);

/* Output has come further: see line_results_advance(). */
void run_lines_advance(struct run_lines *lines, enum results_stage stage);

/* "FILE:LINE" of the last line. */
void run_lines_make_place(const struct run_lines *lines, char place[RUN_LINES_PLACE_SIZE]);

#endif
