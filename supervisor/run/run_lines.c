/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_lines.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/json_value.h"
#include "base/log.h"
#include "base/text/format.h"
#include "supervisor/run/delivery_input.h"
#include "supervisor/run/delivery_line.h"
#include "supervisor/run/run_stream.h"
#include "supervisor/run/run_vats.h"
#include "supervisor/schedule/log/smallcaps.h"

static void make_line_place(const char *input, int64_t number, char place[RUN_LINES_PLACE_SIZE])
{
    format_text(place, RUN_LINES_PLACE_SIZE, "%s:%" PRId64, input, number);
}

/* For places in messages. */
static const char *input_name(const struct run_lines *lines)
{
    if (lines->stream != NULL)
        return lines->stream->address.stream;
    return lines->input != NULL ? lines->input->name : "input";
}

void run_lines_make_place(const struct run_lines *lines, char place[RUN_LINES_PLACE_SIZE])
{
    make_line_place(input_name(lines), lines->line_number, place);
}

static void fail_lines(struct run_lines *lines, const struct error *error)
{
    lines->listener.failed(lines->listener.context, error);
}

static void report_message_failed(struct run_lines *lines)
{
    lines->listener.message_failed(lines->listener.context);
}

static void fail_at_line(struct run_lines *lines, struct error *error)
{
    error_prefix(error, "%s:%" PRId64, input_name(lines), lines->line_number);
    fail_lines(lines, error);
}

static bool on_input_waiting(void *context);

static bool results_are_full(const struct run_lines *lines)
{
    return lines->stream != NULL && lines->stream->results != NULL &&
           stream_results_are_full(lines->stream->results);
}

static void on_turn(uv_idle_t *turn)
{
    struct run_lines *lines = turn->data;

    uv_idle_stop(turn);
    if (!results_are_full(lines))
        delivery_input_next(lines->input);
    else /* accepted lines are made durable, and their results published */
        lines->held = on_input_waiting(lines);
}

/* From the loop, since lines that queue nothing would otherwise make the stack grow. */
static void ask_for_line(struct run_lines *lines)
{
    /* Cannot fail: the callback is there. */
    (void)uv_idle_start(&lines->turn, on_turn);
}

/* ---- what a line does ---- */

/* Reports a message to a vat that cannot get it, `why`: nothing is delivered. */
static int report_refused(struct run_lines *lines, const struct delivery_line *line,
                          const char *why, const char *reason, struct error *error)
{
    const char *method =
        line->call != NULL ? json_string_value(json_array_get(line->call, 0)) : "?";
    struct buf words = {0}, description = {0};
    char place[RUN_LINES_PLACE_SIZE];
    struct delivery_report report = {
        .vat = line->vat,
        .vat_id = "",
        .method = method,
        .dispatch = "message",
        .promise = "",
        .place = place,
        .crank_num = REPORT_NONE,
        .delivery_num = REPORT_NONE,
        .compute = REPORT_NONE,
        .instructions = REPORT_NONE,
        .block_cost = REPORT_NONE,
        .gas_burnt = REPORT_NONE,
        .gas_refunded = REPORT_NONE,
        .total = REPORT_NONE,
        .pipe = REPORT_NONE,
        .worker = REPORT_NONE,
        .kernel = REPORT_NONE,
    };
    int result;

    run_lines_make_place(lines, place);
    buf_printf(&words, "%s: %s", why, reason);
    buf_printf(&description, "(o+0).%s -> null", method);
    report.error = buf_string(&words);
    report.description = buf_string(&description);
    result = report.error != NULL && report.description != NULL
                 ? output_delivery(lines->output, &report, error)
                 : error_memory(error, "a delivery");
    output_advance(lines->output, OUTPUT_KEPT);
    report_message_failed(lines);
    buf_free(&words);
    buf_free(&description);
    return result;
}

/* {"body":"#\"WORDS\"","slots":[]}; the words begin with a letter, so that they need no escape of
 * smallcaps. */
static int write_refusal(struct buf *capdata, const char *words)
{
    struct buf body = {0};

    buf_append_string(&body, "#");
    json_value_write_string(&body, words, strlen(words));
    buf_append_string(capdata, "{\"body\":");
    if (buf_failed(&body))
        capdata->failed = true;
    else
        json_value_write_string(capdata, body.data, body.length);
    buf_append_string(capdata, ",\"slots\":[]}");
    buf_free(&body);
    return buf_string(capdata) != NULL ? 0 : -1;
}

/* The sender of a stream's message gets an answer. */
static int refuse_message(struct run_lines *lines, const char *words, struct error *error)
{
    struct buf capdata = {0};
    int result;

    if (write_refusal(&capdata, words) != 0)
        result = error_memory(error, "a result");
    else
        result = line_results_refuse(&lines->results, lines->line_number, capdata.data, error);
    output_advance(lines->output, OUTPUT_KEPT);
    buf_free(&capdata);
    return result;
}

static int queue_line(struct run_lines *lines, const struct delivery_line *line,
                      struct error *error)
{
    const bool wants_result = line->kind == DELIVERY_LINE_SHORT;
    char result[KERNEL_REF_SIZE] = "";

    if (line_message_queue(&lines->results, scheduler_kernel(lines->scheduler), line,
                           wants_result ? result : NULL, error) != 0)
        return -1;
    if (!wants_result)
        return 0;
    return line_results_add(&lines->results, lines->line_number, line->id, result, error);
}

static int refuse_line(struct run_lines *lines, const struct delivery_line *line, const char *why,
                       const char *reason, struct error *error)
{
    if (report_refused(lines, line, why, reason, error) != 0)
        return -1;
    return lines->stream != NULL ? refuse_message(lines, why, error) : 0;
}

/* A message that cannot be queued, as a record of its vat is damaged: the vat goes into quarantine.
 */
static int refuse_damaged(struct run_lines *lines, const struct delivery_line *line,
                          struct error *error)
{
    const struct error damage = *error;

    if (run_vats_quarantine(scheduler_kernel(lines->scheduler), damage.damaged_vat, line->vat,
                            damage.text, error) != 0)
        return -1;
    return refuse_line(lines, line, "the vat is in quarantine", damage.text, error);
}

static int accept_message(struct run_lines *lines, const struct delivery_line *line,
                          struct error *error)
{
    struct buf reason = {0};
    bool ended = false, lives = false;
    int64_t vat;
    int result = 0;

    if (line->vat != NULL)
        result = run_vats_why_ended(lines->store, line->vat, &reason, &ended, error);
    /* A contract may have created the account again. */
    if (result == 0 && ended)
        result =
            kernel_vat_named(scheduler_kernel(lines->scheduler), line->vat, &vat, &lives, error);
    if (result == 0 && ended && !lives)
        result = buf_string(&reason) != NULL
                     ? refuse_line(lines, line, "the vat has ended", reason.data, error)
                     : error_memory(error, "a delivery");
    else if (result == 0 && queue_line(lines, line, error) != 0)
        result =
            line->vat != NULL && error->damaged_vat != 0 ? refuse_damaged(lines, line, error) : -1;
    buf_free(&reason);
    return result;
}

static int trigger_echo(struct run_lines *lines, const char *words, struct error *error)
{
    bool heard = false;

    if (kernel_trigger(scheduler_kernel(lines->scheduler), words, &heard, error) != 0)
        return -1;
    return heard ? 0 : error_set(error, ERROR_INPUT, "no vat listens to the echo device");
}

static int accept_parsed(struct run_lines *lines, const struct delivery_line *line,
                         struct error *error)
{
    struct kernel *kernel = scheduler_kernel(lines->scheduler);
    bool woken;

    switch (line->kind) {
    case DELIVERY_LINE_CLOCK:
        return kernel_set_clock(kernel, line->clock, &woken, error);
    case DELIVERY_LINE_TRIGGER:
        return trigger_echo(lines, line->trigger, error);
    case DELIVERY_LINE_REAP:
        return kernel_reap_all(kernel, error);
    default:
        return accept_message(lines, line, error);
    }
}

static int accept_line(struct run_lines *lines, const char *text, size_t length,
                       struct error *error)
{
    struct delivery_line line;
    int result;

    if (delivery_line_parse(&line, text, length, error) != 0)
        return -1;
    result = scheduler_open_transaction(lines->scheduler, error);
    if (result == 0)
        result = input_place_take(&lines->place, lines->line_number, text, length, error);
    if (result == 0)
        result = accept_parsed(lines, &line, error);
    delivery_line_free(&line);
    return result;
}

/* A bad message is accepted and refused: ending the run would end the next one, too. */
static int accept_refused(struct run_lines *lines, const char *text, size_t length,
                          const struct error *why, struct error *error)
{
    char words[sizeof why->text + 16];

    format_text(words, sizeof words, "refused: %s", why->text);
    log_line("%s:%" PRId64 ": %s", input_name(lines), lines->line_number, words);
    if (scheduler_open_transaction(lines->scheduler, error) != 0 ||
        input_place_take(&lines->place, lines->line_number, text, length, error) != 0)
        return -1;
    return refuse_message(lines, words, error);
}

static int accept_stream_message(struct run_lines *lines, const char *text, size_t length,
                                 struct error *error)
{
    const struct input_place before = lines->place;
    struct error why;

    if (scheduler_open_transaction(lines->scheduler, error) != 0 ||
        store_savepoint_set(lines->store, error) != 0)
        return -1;
    if (accept_line(lines, text, length, &why) == 0)
        return store_savepoint_release(lines->store, error);
    *error = why;
    if (why.kind != ERROR_INPUT || store_savepoint_undo(lines->store, error) != 0)
        return -1;
    lines->place = before;
    return accept_refused(lines, text, length, &why, error);
}

/* ---- lines from the input ---- */

bool run_lines_in_batch(const struct run_lines *lines)
{
    return lines->place.batch > 0;
}

int run_lines_end_batch(struct run_lines *lines, struct error *error)
{
    lines->queued = 0;
    return input_place_keep_batch(&lines->place, 0, error);
}

static void deliver_batch(struct run_lines *lines)
{
    struct error error;

    lines->delivering = true;
    if (scheduler_open_transaction(lines->scheduler, &error) != 0 ||
        input_place_keep_batch(&lines->place, 0, &error) != 0)
        fail_lines(lines, &error);
    else
        scheduler_run(lines->scheduler);
}

static void update_upcoming(struct run_lines *lines)
{
    lines->upcoming.available = lines->input != NULL && lines->started && !lines->skipping;
}

static void skip_line(struct run_lines *lines, const char *text, size_t length)
{
    struct error error;

    if (input_place_skip(&lines->place, lines->line_number, text, length, &error) != 0) {
        error_prefix(&error, "%s", lines->input->name);
        fail_lines(lines, &error);
        return;
    }
    lines->skipping = lines->line_number < lines->place.lines;
    update_upcoming(lines);
    if (!lines->skipping)
        log_line("%s: continues after line %" PRId64, lines->input->name, lines->place.lines);
    ask_for_line(lines);
}

static void on_input_line(void *context, const char *text, size_t length, int64_t number)
{
    struct run_lines *lines = context;
    struct error error;

    if (lines->stopped)
        return;
    lines->line_number = number;
    upcoming_lines_pass(&lines->upcoming, number);
    if (lines->skipping) {
        skip_line(lines, text, length);
    } else if ((lines->stream != NULL ? accept_stream_message(lines, text, length, &error)
                                      : accept_line(lines, text, length, &error)) != 0) {
        fail_at_line(lines, &error);
    } else if (++lines->queued < lines->options->queue_lines) {
        ask_for_line(lines);
    } else {
        deliver_batch(lines);
    }
}

/* They may still be settled by a later run on the store. */
static int print_unresolved(struct run_lines *lines, struct error *error)
{
    lines->output->sums.unresolved = (int64_t)lines->results.count;
    if (line_results_leave_open(&lines->results, error) != 0)
        return -1;
    output_advance(lines->output, OUTPUT_KEPT);
    return 0;
}

static void end_input(struct run_lines *lines)
{
    struct error error;

    if (lines->skipping && input_place_check(&lines->place, &error) != 0)
        error_prefix(&error, "%s", lines->input->name);
    else if (scheduler_open_transaction(lines->scheduler, &error) == 0 &&
             input_place_finish(&lines->place, &error) == 0 && print_unresolved(lines, &error) == 0)
        error.kind = ERROR_NONE;
    if (error.kind != ERROR_NONE)
        fail_lines(lines, &error);
    else
        lines->listener.ended(lines->listener.context);
}

static void on_input_end(void *context)
{
    struct run_lines *lines = context;

    lines->input_ended = true;
    if (lines->stopped) /* by a signal: the next run reads the end again */
        return;
    if (lines->queued > 0)
        deliver_batch(lines);
    else
        end_input(lines);
}

static void on_input_failed(void *context, const struct error *error)
{
    fail_lines(context, error);
}

/* Delivers and commits the lines so far before waiting for more. */
static bool on_input_waiting(void *context)
{
    struct run_lines *lines = context;

    if (lines->queued == 0)
        return scheduler_commit(lines->scheduler) == 0;
    deliver_batch(lines);
    return false;
}

/* ---- results of messages ---- */

/* Adds the result to those that are published once they are durable. */
static void add_published(struct run_lines *lines, const struct line_outcome *outcome,
                          const struct output_result *result)
{
    struct buf line = {0};
    struct error error;

    if (lines->stream == NULL || lines->stream->results == NULL)
        return;
    output_result_write(&line, result); /* with a newline, which a message does not need */
    if (buf_failed(&line))
        error_memory(&error, "a result");
    else if (stream_results_add(lines->stream->results, outcome->line, line.data, line.length - 1,
                                &error) == 0)
        error.kind = ERROR_NONE;
    if (error.kind != ERROR_NONE)
        fail_lines(lines, &error);
    buf_free(&line);
}

static void print_settled(struct run_lines *lines, const struct line_outcome *outcome,
                          const char *place)
{
    json_t *capdata =
        json_value_read(outcome->capdata, strlen(outcome->capdata), JSON_ALLOW_NUL, NULL);
    struct buf value = {0};
    struct output_result result = {
        .place = place,
        .fulfilled = outcome->state == KERNEL_PROMISE_FULFILLED,
        .shown = outcome->shown,
        .again = outcome->again,
    };
    struct error error;

    if (smallcaps_write_value(&value, capdata, &error) == 0)
        result.value = buf_string(&value);
    if (result.value == NULL) {
        error_memory(&error, "a result");
        fail_lines(lines, &error);
    } else if (output_result(lines->output, &result, &error) != 0) {
        fail_lines(lines, &error);
    } else {
        add_published(lines, outcome, &result);
    }
    if (!result.fulfilled)
        report_message_failed(lines);
    json_decref(capdata);
    buf_free(&value);
}

static void print_outcome(void *context, const struct line_outcome *outcome)
{
    struct run_lines *lines = context;
    char place[RUN_LINES_PLACE_SIZE];
    struct error error;

    make_line_place(outcome->input, outcome->line, place);
    if (outcome->state != KERNEL_PROMISE_UNRESOLVED)
        print_settled(lines, outcome, place);
    else if (output_unresolved(lines->output, place, outcome->again, &error) != 0)
        fail_lines(lines, &error);
}

static void count_published(struct run_lines *lines)
{
    if (lines->stream != NULL && lines->stream->results != NULL)
        line_results_add_published(&lines->results,
                                   stream_results_take_stored(lines->stream->results));
}

/* As many more results were printed. */
static void release_printed(struct run_lines *lines, size_t count)
{
    if (lines->stream != NULL && lines->stream->results != NULL)
        stream_results_release(lines->stream->results, count);
    else
        line_results_advance(&lines->results, RESULTS_PUBLISHED);
}

void run_lines_continue(struct run_lines *lines)
{
    struct error error;

    if (lines->stopped)
        return;
    lines->started = true;
    if (lines->delivering)
        lines->queued = 0;
    lines->delivering = false;
    update_upcoming(lines);
    count_published(lines);
    if (scheduler_open_transaction(lines->scheduler, &error) != 0 ||
        line_results_forget_printed(&lines->results, &error) != 0 ||
        line_results_settle(&lines->results, &error) != 0) {
        fail_lines(lines, &error);
        return;
    }
    output_advance(lines->output, OUTPUT_KEPT);
    if (lines->input == NULL)
        lines->listener.ended(lines->listener.context);
    else if (lines->input_ended)
        end_input(lines);
    else
        ask_for_line(lines);
}

void run_lines_shown(struct run_lines *lines, const struct delivery_report *report)
{
    if (report->promise[0] != '\0' && (!report->ok || report->result != NULL))
        line_results_shown(&lines->results, report->promise);
}

int run_lines_is_rejected(struct run_lines *lines, const struct delivery_report *report,
                          bool *rejected, struct error *error)
{
    *rejected = false;
    /* JSON lines report it as the line's result. */
    if (lines->options->json || report->promise[0] == '\0' || !report->ok || report->result != NULL)
        return 0;
    return line_results_is_rejected(&lines->results, report->promise, rejected, error);
}

void run_lines_advance(struct run_lines *lines, enum results_stage stage)
{
    const size_t before = lines->results.reached[stage];

    line_results_advance(&lines->results, stage);
    if (stage == RESULTS_PRINTED)
        release_printed(lines, lines->results.reached[stage] - before);
}

int run_lines_finish(struct run_lines *lines, struct error *error)
{
    if (lines->stream != NULL && lines->stream->results != NULL)
        stream_results_finish(lines->stream->results);
    count_published(lines);
    if (lines->results.reached[RESULTS_PUBLISHED] == 0)
        return 0;
    if (store_transaction_begin(lines->store, error) != 0 ||
        line_results_forget_printed(&lines->results, error) != 0)
        return -1;
    return store_transaction_commit(lines->store, error);
}

/* ---- beginning and end ---- */

/* Prints the results that are in the store already. */
static int print_old_results(struct run_lines *lines, struct error *error)
{
    if (line_results_report_again(&lines->results, error) != 0)
        return -1;
    if (output_flush_all(lines->output, error) != 0)
        return -1;
    for (int stage = 0; stage <= RESULTS_PRINTED; stage++)
        line_results_advance(&lines->results, stage);
    return 0;
}

/* Starts another input: the results of the one before are forgotten. */
static int begin_new_input(struct run_lines *lines, const char *stream, struct error *error)
{
    if (lines->stream != NULL && lines->stream->results != NULL)
        stream_results_clear(lines->stream->results);
    if (line_results_clear(&lines->results, error) != 0)
        return -1;
    return input_place_begin(&lines->place, stream, error);
}

static struct delivery_input_listener input_listener(struct run_lines *lines)
{
    return (struct delivery_input_listener){
        .context = lines,
        .line = on_input_line,
        .end = on_input_end,
        .waiting = on_input_waiting,
        .failed = on_input_failed,
    };
}

static int open_lines_file(struct run_lines *lines, struct error *error)
{
    const struct delivery_input_listener listener = input_listener(lines);

    lines->input = file_input_open(lines->loop, lines->options->deliveries, &listener, error);
    return lines->input != NULL ? 0 : -1;
}

static void on_results_caught_up(void *context)
{
    struct run_lines *lines = context;

    if (!lines->held || lines->stopped)
        return;
    lines->held = false;
    ask_for_line(lines);
}

static int open_lines_stream(struct run_lines *lines, struct error *error)
{
    const struct stream_results_listener listener = {
        .context = lines,
        .caught_up = on_results_caught_up,
        .failed = on_input_failed,
    };

    lines->stream = run_stream_open(lines->options, lines->loop, &listener, error);
    return lines->stream != NULL ? 0 : -1;
}

static int open_input(struct run_lines *lines, struct error *error)
{
    if (lines->options->from != NULL)
        return open_lines_stream(lines, error);
    return lines->options->deliveries != NULL ? open_lines_file(lines, error) : 0;
}

static int refuse_repeat(const struct run_lines *lines, enum input_repeat repeat,
                         struct error *error)
{
    if (repeat == INPUT_SAME)
        return error_set(error, ERROR_USAGE,
                         "%s: the store has delivered all of it; --resume delivers lines appended "
                         "since, --again delivers it again",
                         lines->input->name);
    return error_set(error, ERROR_USAGE,
                     "%s: the store has delivered all of it up to line %" PRId64
                     "; --resume delivers the lines after that, --again all of them",
                     lines->input->name, lines->place.lines);
}

/*
 * Sets *ended if the store's input has ended and this one is another. Operations and upgrades are
 * carried out also with the file that is done, whose lines are then skipped.
 */
static int check_ended(struct run_lines *lines, const char *stream, bool *ended,
                       struct error *error)
{
    const struct run_options *options = lines->options;
    const bool operates = !operations_are_none(&options->operations) || options->upgrades.count > 0;
    enum input_repeat repeat;

    *ended = lines->place.done && (!options->resume || stream[0] != '\0');
    if (!*ended || stream[0] != '\0' || options->again)
        return 0;
    if (input_place_compare(&lines->place, lines->input, &repeat, error) != 0)
        return -1;
    if (repeat == INPUT_GROWN || (repeat == INPUT_SAME && !operates))
        return refuse_repeat(lines, repeat, error);
    *ended = repeat == INPUT_OTHER;
    return 0;
}

/* Continues where the store is in its input, or begins this one. */
static int find_input_place(struct run_lines *lines, const char *stream, struct error *error)
{
    bool ended;

    if (check_ended(lines, stream, &ended, error) != 0)
        return -1;
    if (ended || lines->options->again || (stream[0] != '\0' && input_place_is_new(&lines->place)))
        return begin_new_input(lines, stream, error);
    if (input_place_check_stream(&lines->place, stream, error) != 0)
        return -1;
    lines->queued = lines->place.batch;
    lines->skipping = stream[0] == '\0' && lines->place.lines > 0;
    release_printed(lines, lines->results.reached[RESULTS_PRINTED]);
    return 0;
}

/* The servers know nothing of our place. */
static int start_stream(struct run_lines *lines, struct error *error)
{
    const struct delivery_input_listener listener = input_listener(lines);

    if (find_input_place(lines, lines->stream->identity, error) != 0)
        return -1;
    lines->input = stream_input_open(lines->loop, &lines->stream->reader, lines->place.lines,
                                     &listener, error);
    if (lines->input == NULL)
        return -1;
    lines->upcoming.input = lines->input;
    return 0;
}

static int check_line_names(void *context, const char *text, size_t length, int64_t number,
                            struct error *error)
{
    const struct run_lines *lines = context;

    if (delivery_line_check_vat(lines->upcoming.kernel, text, length, error) == 0)
        return 0;
    return error_prefix(error, "%s:%" PRId64, input_name(lines), number);
}

int run_lines_check_names(struct run_lines *lines, struct error *error)
{
    if (lines->input == NULL || lines->stream != NULL || lines->skipping)
        return 0;
    return file_input_scan(lines->input, check_line_names, lines, error);
}

static int open_line_results(struct run_lines *lines, struct kernel *kernel, struct error *error)
{
    lines->results = (struct line_results){
        .input = input_name(lines),
        .store = lines->store,
        .kernel = kernel,
        .release = lines->options->release_results,
        .report = print_outcome,
        .context = lines,
    };
    return line_results_open(&lines->results, error);
}

int run_lines_open(struct run_lines *lines, struct error *error)
{
    struct kernel *kernel = scheduler_kernel(lines->scheduler);

    (void)uv_idle_init(lines->loop, &lines->turn); /* cannot fail in any libuv 1 */
    lines->turn.data = lines;
    lines->turn_open = true;
    if (open_input(lines, error) != 0 ||
        input_place_open(&lines->place, lines->store, error) != 0 ||
        open_line_results(lines, kernel, error) != 0 || print_old_results(lines, error) != 0)
        return -1;
    lines->upcoming.input = lines->input;
    lines->upcoming.kernel = kernel;
    lines->upcoming.results = &lines->results;
    if (lines->stream != NULL)
        return start_stream(lines, error);
    return lines->input != NULL ? find_input_place(lines, "", error) : 0;
}

int run_lines_stop(struct run_lines *lines, bool keep, struct error *error)
{
    lines->stopped = true;
    if (!keep || lines->delivering)
        return 0;
    return input_place_keep_batch(&lines->place, lines->queued, error);
}

void run_lines_close(struct run_lines *lines)
{
    if (lines->turn_open)
        uv_close((uv_handle_t *)&lines->turn, NULL);
    lines->turn_open = false;
    delivery_input_close(lines->input);
    lines->input = NULL;
    if (lines->stream != NULL)
        stream_results_close(lines->stream->results);
}

void run_lines_free(struct run_lines *lines)
{
    upcoming_lines_free(&lines->upcoming);
    line_results_free(&lines->results);
    run_stream_free(lines->stream);
    lines->stream = NULL;
}
