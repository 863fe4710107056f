/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_PARTS_H
#define GASPIPE_SUPERVISOR_RUN_PARTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "supervisor/process/fingerprint.h"
#include "supervisor/run/delivery_input.h"
#include "supervisor/run/delivery_line.h"
#include "supervisor/run/input_place.h"
#include "supervisor/run/line_results.h"
#include "supervisor/run/output.h"
#include "supervisor/run/run_options.h"
#include "supervisor/schedule/scheduler.h"
#include "supervisor/schedule/speculation/speculation.h"

/* What the run*.c files share: one run from within. */

enum { RUN_SIGNALS = 3, RUN_PLACE_SIZE = PATH_MAX + 24 };

/* A line that was looked at before its turn. */
struct run_line_ahead {
    int64_t number;
    struct delivery_line line; /* owned */
    int64_t vat; /* that it goes to; 0: what comes of it, and of all behind it, is not known */
};

struct run_ahead {
    struct run_line_ahead *lines; /* those behind the last line, in their order */
    size_t count, capacity;
};

struct run {
    struct run_options options;
    uv_loop_t loop;
    uv_signal_t signals[RUN_SIGNALS];
    uv_timer_t progress;
    uv_idle_t turn; /* asks for the next line, out of the loop */
    bool handles_open;
    struct launcher launcher;
    struct placement placement;
    struct fingerprint fingerprint; /* of counted workers */
    struct store *store;
    struct slog_writer *slog;
    struct scheduler *scheduler;
    struct delivery_input *input;
    struct input_place place;
    struct run_ahead ahead;
    struct speculation_source upcoming;
    struct line_results results;
    struct output output;

    bool started;  /* the vats' startVat are done: lines are delivered */
    bool skipping; /* lines that the store has taken in */
    bool input_ended;
    bool ending;
    uint64_t queued;     /* lines, since the kernel had nothing to do */
    int64_t line_number; /* of the last line */
    int status;          /* exit status so far */
    uint64_t began;      /* nanoseconds, uv_hrtime() */
};

/* Says what was wrong, with its exit status, and ends the run. */
void run_fail(struct run *run, const struct error *error);

/* Ends the run; `drop`: without what is not committed yet. */
void run_end(struct run *run, bool drop);

/* ---- run_placement.c ---- */

/* The workers may be somewhere else from now on. */
int run_observe(struct run *run, const struct delivery_report *report, struct error *error);

/* ---- run_vats.c ---- */

/* Puts the contracts into the store and has the kernel know them. */
int run_add_vats(struct run *run, struct error *error);

/* The file of a vat of the command line; NULL: there is none of that name. */
const char *run_vat_path(const struct run *run, const char *name);

/* A vat has ended, and why, for those who deliver to it later. */
int run_note_ended(struct run *run, const char *name, const char *reason, struct error *error);

/* Why a vat has ended, appended; *found: it has. */
int run_why_ended(struct run *run, const char *name, struct buf *reason, bool *found,
                  struct error *error);

/* ---- run_messages.c ---- */

/* Queues the message of a short or full line. `result` as kernel_queue_message() has it. */
int run_queue_message(struct run *run, struct kernel *kernel, const struct delivery_line *line,
                      char result[KERNEL_REF_SIZE], struct error *error);

/* ---- run_ahead.c: lines before their turn, as struct scheduler_listener has them ---- */

bool run_coming(void *context, size_t index, int64_t *vat);
int run_queue_coming(void *context, size_t index, struct kernel *kernel, struct error *error);

/* The line has its turn. */
void run_pass_ahead(struct run *run, int64_t number);
void run_free_ahead(struct run *run);

/* ---- run_lines.c: the deliveries ---- */

/* Opens the file, at the place where the store is. */
int run_open_lines(struct run *run, struct error *error);

/* The kernel has nothing to do. */
void run_on_idle(void *context);

/* "FILE:LINE" of the line. */
void run_make_place(const struct run *run, int64_t line, char place[RUN_PLACE_SIZE]);

#endif
