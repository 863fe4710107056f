/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json/json_value.h"
#include "base/log.h"
#include "supervisor/run/delivery_line.h"
#include "supervisor/run/run_parts.h"
#include "supervisor/schedule/log/plain_value.h"

void run_make_place(const struct run *run, int64_t line, char place[RUN_PLACE_SIZE])
{
    snprintf(place, RUN_PLACE_SIZE, "%s:%" PRId64, delivery_input_name(run->input), line);
}

static void fail_at_line(struct run *run, struct error *error)
{
    error_prefix(error, "%s:%" PRId64, delivery_input_name(run->input), run->line_number);
    run_fail(run, error);
}

static void turn_came(uv_idle_t *turn)
{
    struct run *run = turn->data;

    uv_idle_stop(turn);
    delivery_input_next(run->input);
}

/* Out of the loop: lines that come to nothing would otherwise make the stack grow. */
static void ask_for_line(struct run *run)
{
    /* Cannot fail: the callback is there. */
    (void)uv_idle_start(&run->turn, turn_came);
}

/* ---- what becomes of it ---- */

/* The report of a message to a vat that has ended: nothing is delivered. */
static int report_refused(struct run *run, const struct delivery_line *line,
                          const struct buf *reason, struct error *error)
{
    const char *method =
        line->call != NULL ? json_string_value(json_array_get(line->call, 0)) : "?";
    struct buf words = {0}, description = {0};
    char place[RUN_PLACE_SIZE];
    struct delivery_report report = {
        .vat = line->vat,
        .vat_id = "",
        .method = method,
        .dispatch = "message",
        .promise = "",
        .place = place,
        .crank_num = REPORT_NONE,
        .delivery_num = REPORT_NONE,
        .blame = ERROR_DELIVERY,
        .compute = REPORT_NONE,
        .instructions = REPORT_NONE,
        .total = REPORT_NONE,
        .pipe = REPORT_NONE,
        .worker = REPORT_NONE,
        .kernel = REPORT_NONE,
        .processor = REPORT_NONE,
    };
    int result;

    run_make_place(run, run->line_number, place);
    buf_printf(&words, "the vat has ended: %.*s", (int)reason->length, reason->data);
    buf_printf(&description, "(o+0).%s -> null", method);
    report.error = buf_string(&words);
    report.description = buf_string(&description);
    result = report.error != NULL && report.description != NULL
                 ? output_delivery(&run->output, &report, error)
                 : error_memory(error, "a delivery");
    output_keep(&run->output);
    run->status = ERROR_DELIVERY;
    buf_free(&words);
    buf_free(&description);
    return result;
}

static int queue_message(struct run *run, const struct delivery_line *line, struct error *error)
{
    const bool wants_result = line->kind == DELIVERY_LINE_SHORT;
    char result[KERNEL_REF_SIZE] = "";

    if (run_queue_message(run, scheduler_kernel(run->scheduler), line, wants_result ? result : NULL,
                          error) != 0)
        return -1;
    if (!wants_result)
        return 0;
    return line_results_add(&run->results, run->line_number, line->id, result, error);
}

static int take_message(struct run *run, const struct delivery_line *line, struct error *error)
{
    struct buf reason = {0};
    bool ended = false;
    int result = 0;

    if (line->vat != NULL)
        result = run_why_ended(run, line->vat, &reason, &ended, error);
    if (result == 0)
        result =
            ended ? report_refused(run, line, &reason, error) : queue_message(run, line, error);
    buf_free(&reason);
    return result;
}

static int trigger(struct run *run, const char *words, struct error *error)
{
    bool heard = false;

    if (kernel_trigger(scheduler_kernel(run->scheduler), words, &heard, error) != 0)
        return -1;
    return heard ? 0 : error_set(error, ERROR_INPUT, "nobody has subscribed to the echo device");
}

static int take_parsed(struct run *run, const struct delivery_line *line, struct error *error)
{
    struct kernel *kernel = scheduler_kernel(run->scheduler);
    bool woken;

    switch (line->kind) {
    case DELIVERY_LINE_CLOCK:
        return kernel_set_clock(kernel, line->clock, &woken, error);
    case DELIVERY_LINE_TRIGGER:
        return trigger(run, line->trigger, error);
    case DELIVERY_LINE_REAP:
        return kernel_reap_all(kernel, error);
    default:
        return take_message(run, line, error);
    }
}

static int take_line(struct run *run, const char *text, size_t length, struct error *error)
{
    struct delivery_line line;
    int result;

    if (delivery_line_parse(&line, text, length, error) != 0)
        return -1;
    result = scheduler_open_transaction(run->scheduler, error);
    if (result == 0)
        result = input_place_take(&run->place, run->line_number, text, length, error);
    if (result == 0)
        result = take_parsed(run, &line, error);
    delivery_line_free(&line);
    return result;
}

/* ---- lines that come ---- */

static void skip_line(struct run *run, const char *text, size_t length)
{
    struct error error;

    if (input_place_skip(&run->place, run->line_number, text, length, &error) != 0) {
        error_prefix(&error, "%s", delivery_input_name(run->input));
        run_fail(run, &error);
        return;
    }
    run->skipping = run->line_number < run->place.lines;
    if (!run->skipping)
        log_line("%s: goes on behind line %" PRId64, delivery_input_name(run->input),
                 run->place.lines);
    ask_for_line(run);
}

static void got_line(void *context, const char *text, size_t length, int64_t number)
{
    struct run *run = context;
    struct error error;

    if (run->ending)
        return;
    run->line_number = number;
    run_pass_ahead(run, number);
    if (run->skipping) {
        skip_line(run, text, length);
    } else if (take_line(run, text, length, &error) != 0) {
        fail_at_line(run, &error);
    } else if (++run->queued < run->options.queue_lines) {
        ask_for_line(run);
    } else {
        scheduler_go(run->scheduler);
    }
}

static void end_input(struct run *run)
{
    struct error error;

    if (run->skipping && input_place_check(&run->place, &error) != 0)
        error_prefix(&error, "%s", delivery_input_name(run->input));
    else if (scheduler_open_transaction(run->scheduler, &error) == 0 &&
             input_place_finish(&run->place, &error) == 0)
        error.kind = ERROR_NONE;
    if (error.kind != ERROR_NONE)
        run_fail(run, &error);
    else
        run_end(run, false);
}

static void input_ended(void *context)
{
    struct run *run = context;

    run->input_ended = true;
    if (run->ending) /* by a signal: who starts again finds the end once more */
        return;
    if (run->queued > 0)
        scheduler_go(run->scheduler);
    else
        end_input(run);
}

static void input_failed(void *context, const struct error *error)
{
    run_fail(context, error);
}

/* Before lines are waited for, those that have come are delivered, and all is durable. */
static bool input_waits(void *context)
{
    struct run *run = context;

    if (run->queued == 0)
        return scheduler_commit(run->scheduler) == 0;
    scheduler_go(run->scheduler);
    return false;
}

/* ---- what the lines' messages come to ---- */

static void told_outcome(void *context, const struct line_outcome *outcome)
{
    struct run *run = context;
    json_t *capdata =
        json_value_read(outcome->capdata, strlen(outcome->capdata), JSON_ALLOW_NUL, NULL);
    struct buf value = {0};
    char place[RUN_PLACE_SIZE];
    struct output_result result = {
        .place = place,
        .fulfilled = outcome->fulfilled,
        .shown = outcome->shown,
        .again = outcome->again,
    };
    struct error error;

    run_make_place(run, outcome->line, place);
    if (plain_value_write(&value, capdata, &error) == 0)
        result.value = buf_string(&value);
    if (result.value == NULL) {
        error_memory(&error, "a result");
        run_fail(run, &error);
    } else if (output_result(&run->output, &result, &error) != 0) {
        run_fail(run, &error);
    }
    if (!outcome->fulfilled)
        run->status = ERROR_DELIVERY;
    json_decref(capdata);
    buf_free(&value);
}

void run_on_idle(void *context)
{
    struct run *run = context;
    struct error error;

    if (run->ending)
        return;
    run->started = true;
    run->queued = 0;
    if (scheduler_open_transaction(run->scheduler, &error) != 0 ||
        line_results_forget_printed(&run->results, &error) != 0 ||
        line_results_settle(&run->results, told_outcome, run, &error) != 0) {
        run_fail(run, &error);
        return;
    }
    output_keep(&run->output);
    if (run->input_ended)
        end_input(run);
    else
        ask_for_line(run);
}

/* ---- the beginning ---- */

/* What is in the store already: it is printed at once. */
static int tell_again(struct run *run, struct error *error)
{
    if (line_results_tell_again(&run->results, told_outcome, run, error) != 0)
        return -1;
    output_keep(&run->output);
    if (output_flush(&run->output, error) != 0)
        return -1;
    line_results_printed(&run->results);
    return 0;
}

/* Where another file begins nothing of the one before is waited for. */
static int begin_anew(struct run *run, struct error *error)
{
    if (line_results_clear(&run->results, error) != 0)
        return -1;
    return input_place_begin(&run->place, error);
}

int run_open_lines(struct run *run, struct error *error)
{
    const struct delivery_input_listener listener = {
        .context = run,
        .line = got_line,
        .end = input_ended,
        .waiting = input_waits,
        .failed = input_failed,
    };

    run->input = delivery_input_open(&run->loop, run->options.deliveries, &listener, error);
    if (run->input == NULL || input_place_open(&run->place, run->store, error) != 0 ||
        line_results_open(&run->results, run->store, scheduler_kernel(run->scheduler), error) != 0)
        return -1;
    if ((run->place.done && !run->options.resume) || run->options.new_input)
        return begin_anew(run, error);
    run->skipping = run->place.lines > 0;
    return tell_again(run, error);
}
