/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json_value.h"
#include "base/log.h"
#include "supervisor/run/run_parts.h"

enum { PROGRESS_MS = 5000 };

static const int ending_signals[RUN_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

/* ---- ending ---- */

void run_end(struct run *run, bool drop)
{
    run->ending = true;
    scheduler_close(run->scheduler, drop);
    output_drop(&run->output); /* what was committed is printed */
}

void run_fail(struct run *run, const struct error *error)
{
    log_line("%s", error->text);
    run->status = (int)error->kind;
    run_end(run, error->kind == ERROR_SYSTEM);
}

static void signal_came(uv_signal_t *handle, int number)
{
    struct run *run = handle->data;

    /* All is done: whoever starts again because of the status would begin anew. */
    if (run->ending)
        return;
    log_line("ended by signal %d (%s); what was delivered before is kept", number,
             strsignal(number));
    run->status = 128 + number;
    run_end(run, false);
}

/* ---- what the scheduler tells ---- */

/* A contract that cannot be started is bad input: nothing of it is kept. */
static void contract_failed(struct run *run, const struct delivery_report *report, const char *path)
{
    static const char stand_in[] = "contract.js:";
    struct buf shown = {0};
    const char *words;
    struct error error;

    json_value_show_string(&shown, report->error, strlen(report->error));
    words = buf_string(&shown) != NULL ? shown.data : report->error;
    if (strncmp(words, stand_in, strlen(stand_in)) == 0)
        error_set(&error, ERROR_INPUT, "%s:%s", path, words + strlen(stand_in));
    else
        error_set(&error, ERROR_INPUT, "%s: %s", path, words);
    log_line("%s", error.text);
    run->status = (int)error.kind;
    run_end(run, true);
    buf_free(&shown);
}

static int note_end(struct run *run, const struct delivery_report *report, struct error *error)
{
    if (!report->vat_ended)
        return 0;
    return run_note_ended(run, report->vat,
                          report->error != NULL ? report->error : "it ended by itself", error);
}

static void delivered(void *context, const struct delivery_report *report)
{
    struct run *run = context;
    struct delivery_report placed = *report;
    const char *path = run_vat_path(run, report->vat);
    char place[RUN_PLACE_SIZE];
    struct error error;

    run_make_place(run, run->line_number, place);
    placed.place = run->started ? place : NULL;
    if (!report->ok && !run->started && path != NULL && strcmp(report->dispatch, "startVat") == 0) {
        contract_failed(run, report, path);
        return;
    }
    if (!report->ok)
        run->status = ERROR_DELIVERY;
    if (report->promise[0] != '\0' && (!report->ok || report->result != NULL))
        line_results_shown(&run->results, report->promise);
    if (output_delivery(&run->output, &placed, &error) != 0 || note_end(run, report, &error) != 0 ||
        run_observe(run, report, &error) != 0)
        run_fail(run, &error);
    else if (report->crank_ended)
        output_keep(&run->output);
}

static void committed(void *context)
{
    struct run *run = context;
    struct error error;

    if (output_flush(&run->output, &error) != 0)
        run_fail(run, &error);
    else
        line_results_printed(&run->results);
}

static void scheduler_failed(void *context, const struct error *error)
{
    run_fail(context, error);
}

/*
 * What is left takes no time. A signal that still ended the process would give a run in
 * which all is done the status of one that is to be started again.
 */
static void ignore_ending_signals(void)
{
    for (int i = 0; i < RUN_SIGNALS; i++)
        (void)signal(ending_signals[i], SIG_IGN); /* fails for no signal of these */
}

static void close_handles(struct run *run)
{
    if (!run->handles_open)
        return;
    run->handles_open = false;
    for (int i = 0; i < RUN_SIGNALS; i++)
        uv_close((uv_handle_t *)&run->signals[i], NULL);
    ignore_ending_signals();
    uv_close((uv_handle_t *)&run->progress, NULL);
    uv_close((uv_handle_t *)&run->turn, NULL);
}

/* The store need not tell again what was printed. */
static int forget_printed(struct run *run, struct error *error)
{
    if (run->results.printed == 0)
        return 0;
    if (store_transaction_begin(run->store, error) != 0 ||
        line_results_forget_printed(&run->results, error) != 0)
        return -1;
    return store_transaction_commit(run->store, error);
}

static void scheduler_closed(void *context)
{
    struct run *run = context;
    struct error error;

    close_handles(run);
    if (forget_printed(run, &error) != 0 && run->status != ERROR_SYSTEM) {
        log_line("%s", error.text);
        run->status = ERROR_SYSTEM;
    }
    delivery_input_close(run->input);
    run->input = NULL;
}

static void show_progress(uv_timer_t *timer)
{
    const struct run *run = timer->data;

    log_line("%" PRId64 " deliveries, %" PRId64 " failed, %.0f s", run->output.sums.deliveries,
             run->output.sums.failed, (double)(uv_hrtime() - run->began) / 1e9);
}

/* ---- setting up, and the way back ---- */

static int open_handles(struct run *run, struct error *error)
{
    int result = 0;

    for (int i = 0; i < RUN_SIGNALS; i++) {
        (void)uv_signal_init(&run->loop, &run->signals[i]); /* fails only without memory, */
        run->signals[i].data = run;
        if (result == 0) /* and then this fails too */
            result = uv_signal_start(&run->signals[i], signal_came, ending_signals[i]);
    }
    (void)uv_timer_init(&run->loop, &run->progress); /* cannot fail in any libuv 1 */
    run->progress.data = run;
    (void)uv_idle_init(&run->loop, &run->turn); /* the same */
    run->turn.data = run;
    run->handles_open = true;
    /* At a terminal the lines themselves show how far it is. */
    if (!isatty(STDOUT_FILENO))
        (void)uv_timer_start(&run->progress, show_progress, PROGRESS_MS, PROGRESS_MS);
    if (result != 0)
        return error_set(error, ERROR_SYSTEM, "cannot wait for signals: %s", uv_strerror(result));
    return 0;
}

static int open_slog(struct run *run, struct error *error)
{
    const struct slog_start start = {
        .program = "gaspipe " GASPIPE_VERSION,
        .stamp = stamp_now(),
        .rotation = run->options.rotation,
        .fingerprint = run->launcher.counted ? run->fingerprint.hash : NULL,
    };

    run->slog = slog_writer_open(run->options.slog, &start, error);
    return run->slog == NULL ? -1 : 0;
}

static int open_launcher(struct run *run, struct error *error)
{
    const struct run_options *options = &run->options;
    int result;

    if (options->worker != NULL)
        result =
            launcher_open_foreign(&run->launcher, options->worker, options->compute_limit, error);
    else
        result = launcher_open(&run->launcher, options->counted, options->compute_limit, error);
    run->launcher.instruction_limit = options->instruction_limit;
    run->launcher.memory_limit = (uint64_t)run->options.memory_limit;
    run->launcher.placement = &run->placement;
    if (result == 0 && run->launcher.counted)
        result = fingerprint_take_launcher(&run->fingerprint, &run->launcher, error);
    return result == 0 ? placement_open(&run->placement, options->placement, error) : -1;
}

static int open_files(struct run *run, struct error *error)
{
    run->store = store_open(run->options.store, error);
    if (run->store == NULL)
        return -1;
    return run->options.slog == NULL ? 0 : open_slog(run, error);
}

static int open_scheduler(struct run *run, struct error *error)
{
    const struct scheduler_options options = {
        .loop = &run->loop,
        .launcher = &run->launcher,
        .store = run->store,
        .slog = run->slog,
        .fingerprint = run->launcher.counted ? run->fingerprint.hash : NULL,
        .timeout_ms = run->options.timeout_ms,
        .snapshots = {.interval = run->options.snapshot_interval,
                      .initial = run->options.snapshot_initial},
        .reap_interval = run->options.reap_interval,
        .limits =
            {
                .compute = run->options.compute_limit,
                .instructions = (int64_t)run->options.instruction_limit,
                .syscalls = (int64_t)run->options.syscall_limit,
                .store_bytes = run->options.store_limit,
                .message_bytes = run->options.message_limit,
            },
        .retries = run->options.retries,
        .cranks_per_commit = run->options.cranks_per_commit,
        .max_workers = run->options.max_workers,
        .jobs = run->options.jobs,
        .upcoming = &run->upcoming,
    };
    const struct scheduler_listener listener = {
        .context = run,
        .delivered = delivered,
        .idle = run_on_idle,
        .committed = committed,
        .failed = scheduler_failed,
        .closed = scheduler_closed,
    };

    run->scheduler = scheduler_new(&options, &listener, error);
    return run->scheduler == NULL ? -1 : 0;
}

/* Runs the loop until all is closed. What failed in setting up is in *error. */
static void run_loop(struct run *run, int set_up, const struct error *error)
{
    if (set_up != 0 && run->scheduler == NULL) {
        log_line("%s", error->text);
        run->status = (int)error->kind;
        scheduler_closed(run);
    } else if (set_up != 0) {
        run_fail(run, error);
    } else {
        scheduler_start(run->scheduler);
    }
    (void)uv_run(&run->loop, UV_RUN_DEFAULT);
}

static void close_all(struct run *run)
{
    struct error error;

    scheduler_free(run->scheduler);
    run_free_ahead(run);
    line_results_free(&run->results);
    /* A disk that failed the run before fails again here, and was spoken of. */
    if (slog_writer_close(run->slog, &error) != 0 && run->status != ERROR_SYSTEM) {
        log_line("%s", error.text);
        run->status = ERROR_SYSTEM;
    }
    store_close(run->store);
    launcher_close(&run->launcher);
    fingerprint_free(&run->fingerprint);
    output_free(&run->output);
    (void)uv_loop_close(&run->loop); /* nothing is open on it any more */
}

/* As scheduler.h has it. */
static void settle_jobs(struct run_options *options)
{
    if (options->jobs == 1 || options->max_workers == 0 || options->slog == NULL)
        return;
    log_line("one job, not %" PRIu64 ": with --max-workers several would make another slog",
             options->jobs);
    options->jobs = 1;
}

static void run_all(struct run *run)
{
    struct error error;
    int result = uv_loop_init(&run->loop);

    if (result != 0) {
        log_line("cannot start the event loop: %s", uv_strerror(result));
        run->status = ERROR_SYSTEM;
        return;
    }
    run->began = uv_hrtime();
    settle_jobs(&run->options);
    run->upcoming = (struct speculation_source){run, run_coming, run_queue_coming};
    output_init(&run->output, run->options.json);
    result = open_launcher(run, &error);
    if (result == 0)
        result = open_files(run, &error);
    if (result == 0)
        result = open_handles(run, &error);
    if (result == 0)
        result = open_scheduler(run, &error);
    if (result == 0)
        result = run_open_lines(run, &error);
    if (result == 0)
        result = run_add_vats(run, &error);
    run_loop(run, result, &error);
    if (run->output.begun &&
        output_summary(&run->output, (double)(uv_hrtime() - run->began) / 1e9, &error) != 0) {
        log_line("%s", error.text);
        run->status = ERROR_SYSTEM;
    }
    close_all(run);
}

int run_command(int argc, char **argv)
{
    struct run run = {0};
    struct error error;

    if (run_options_parse(&run.options, argc, argv, &error) != 0) {
        log_line("run: %s (see gaspipe run --help)", error.text);
        run.status = (int)error.kind;
    } else if (run.options.help) {
        fputs(run_options_help, stdout);
    } else {
        run_all(&run);
    }
    run_options_free(&run.options);
    return run.status;
}
