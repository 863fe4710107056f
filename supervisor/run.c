/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "supervisor/delivery_input.h"
#include "supervisor/fingerprint.h"
#include "supervisor/kernel.h"
#include "supervisor/output.h"
#include "supervisor/run_options.h"

enum { PROGRESS_MS = 5000 };

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof ending_signals[0] };

struct run {
    struct run_options options;
    uv_loop_t loop;
    uv_signal_t signals[ENDING_SIGNALS];
    uv_timer_t progress;
    bool handles_open; /* signals and progress */
    struct launcher launcher;
    struct placement placement;
    struct store *store;
    struct slog_writer *slog;
    struct kernel *kernel;
    struct delivery_input *input;
    struct output output;
    struct delivery_line line; /* under way */
    int64_t line_number;
    size_t started; /* vats that were sent their startVat */
    int status;     /* exit status so far */
    uint64_t began; /* nanoseconds, uv_hrtime() */
};

/* ---- ending ---- */

static void end_run(struct run *run)
{
    kernel_close(run->kernel);
}

static void fail(struct run *run, const struct error *error)
{
    log_line("%s", error->text);
    run->status = (int)error->kind;
    end_run(run);
}

static void signal_came(uv_signal_t *handle, int number)
{
    struct run *run = handle->data;

    log_line("ended by signal %d (%s); what was delivered before is kept", number,
             strsignal(number));
    run->status = 128 + number;
    end_run(run);
}

/* ---- what to deliver next ---- */

static void deliver_next(struct run *run)
{
    if (run->started < run->options.vat_count)
        kernel_deliver(run->kernel, (int)run->started++, NULL);
    else
        delivery_input_next(run->input);
}

static void got_line(void *context, const char *text, size_t length, int64_t number)
{
    struct run *run = context;
    struct error error;
    int vat;

    delivery_line_free(&run->line);
    run->line_number = number;
    if (delivery_line_parse(&run->line, text, length, &error) != 0) {
        error_prefix(&error, "%s:%" PRId64, delivery_input_name(run->input), number);
        fail(run, &error);
        return;
    }
    vat = kernel_find_vat(run->kernel, run->line.vat);
    if (vat < 0) {
        error_set(&error, ERROR_INPUT,
                  "%s:%" PRId64 ": there is no vat \"%s\"; name its contract "
                  "with --vat %s=FILE",
                  delivery_input_name(run->input), number, run->line.vat, run->line.vat);
        fail(run, &error);
        return;
    }
    kernel_deliver(run->kernel, vat, &run->line);
}

static void input_ended(void *context)
{
    end_run(context);
}

static void input_failed(void *context, const struct error *error)
{
    fail(context, error);
}

/* ---- what the kernel tells ---- */

/* A contract that cannot be started is bad input: nothing can be delivered to it. */
static void contract_failed(struct run *run, const struct delivery_report *report)
{
    static const char stand_in[] = "contract.js:";
    const char *path = kernel_vat_path(run->kernel, kernel_find_vat(run->kernel, report->vat));
    const char *words = report->error;
    struct error error;

    if (report->blame == ERROR_SYSTEM)
        error_set(&error, ERROR_SYSTEM, "vat %s: %s", report->vat, words);
    else if (strncmp(words, stand_in, strlen(stand_in)) == 0)
        error_set(&error, ERROR_INPUT, "%s:%s", path, words + strlen(stand_in));
    else
        error_set(&error, ERROR_INPUT, "%s: %s", path, words);
    fail(run, &error);
}

static int log_placement(struct run *run, const char *reason, struct stamp now, struct error *error)
{
    int processor = run->placement.here;

    if (run->slog == NULL)
        return 0;
    slog_line_begin(run->slog, "gaspipe-placement");
    slog_field_text(run->slog, "placement", processor >= 0 ? "together" : "apart");
    if (processor >= 0)
        slog_field_integer(run->slog, "processor", processor);
    else
        slog_field_null(run->slog, "processor");
    slog_field_text(run->slog, "reason", reason);
    return slog_line_end(run->slog, now, error);
}

/* The workers may be somewhere else from now on. One delivery is in flight at a time. */
static int observe(struct run *run, const struct delivery_report *report, struct error *error)
{
    struct stamp now = stamp_now();
    struct placement_observation seen = {
        .now = now.mono,
        .waited = report->pipe,
        .frames = report->frames,
        .in_flight = 1,
    };
    const char *reason;

    if (report->frames == 0 || report->pipe == REPORT_NONE)
        return 0;
    /* What a worker had to do and did not is waiting too. */
    if (report->processor != REPORT_NONE && report->worker > report->processor)
        seen.waited += report->worker - report->processor;
    if (!placement_observe(&run->placement, &seen, &reason))
        return 0;
    return log_placement(run, reason, now, error);
}

static void delivered(void *context, const struct delivery_report *report)
{
    struct run *run = context;
    struct delivery_report placed = *report;
    bool starting = run->line_number == 0;
    char place[PATH_MAX];
    struct error error;

    snprintf(place, sizeof place, "%s:%" PRId64, delivery_input_name(run->input), run->line_number);
    placed.place = starting ? NULL : place;
    if (!report->ok && starting) {
        contract_failed(run, report);
    } else if (output_delivery(&run->output, &placed, &error) != 0 ||
               observe(run, report, &error) != 0) {
        fail(run, &error);
    } else {
        if (!report->ok)
            run->status = ERROR_DELIVERY;
        deliver_next(run);
    }
}

static void kernel_failed(void *context, const struct error *error)
{
    fail(context, error);
}

static void close_handles(struct run *run)
{
    if (!run->handles_open)
        return;
    run->handles_open = false;
    for (int i = 0; i < ENDING_SIGNALS; i++)
        uv_close((uv_handle_t *)&run->signals[i], NULL);
    uv_close((uv_handle_t *)&run->progress, NULL);
}

static void kernel_closed(void *context)
{
    struct run *run = context;

    close_handles(run);
    delivery_input_close(run->input);
    run->input = NULL;
}

static void show_progress(uv_timer_t *timer)
{
    const struct run *run = timer->data;

    log_line("%" PRId64 " deliveries, %" PRId64 " failed, %.0f s", run->output.deliveries,
             run->output.failed, (double)(uv_hrtime() - run->began) / 1e9);
}

/* ---- setting up, and the way back ---- */

static int open_handles(struct run *run, struct error *error)
{
    int result = 0;

    for (int i = 0; i < ENDING_SIGNALS; i++) {
        (void)uv_signal_init(&run->loop, &run->signals[i]); /* fails only without memory, */
        run->signals[i].data = run;
        if (result == 0) /* and then this fails too */
            result = uv_signal_start(&run->signals[i], signal_came, ending_signals[i]);
    }
    (void)uv_timer_init(&run->loop, &run->progress); /* cannot fail in any libuv 1 */
    run->progress.data = run;
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
    struct fingerprint fingerprint = {0};
    struct slog_start start = {
        .program = "gaspipe " GASPIPE_VERSION,
        .stamp = stamp_now(),
        .rotation = run->options.rotation,
    };

    if (run->launcher.counted) {
        if (fingerprint_take_launcher(&fingerprint, &run->launcher, error) != 0)
            return -1;
        start.fingerprint = fingerprint.hash;
    }
    run->slog = slog_writer_open(run->options.slog, &start, error);
    fingerprint_free(&fingerprint);
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
    run->launcher.placement = &run->placement;
    return result == 0 ? placement_open(&run->placement, options->placement, error) : -1;
}

static int open_files(struct run *run, struct error *error)
{
    const struct delivery_input_listener listener = {
        .context = run,
        .line = got_line,
        .end = input_ended,
        .failed = input_failed,
    };
    run->input = delivery_input_open(&run->loop, run->options.deliveries, &listener, error);
    if (run->input == NULL)
        return -1;
    run->store = store_open(run->options.store, error);
    if (run->store == NULL)
        return -1;
    return run->options.slog == NULL ? 0 : open_slog(run, error);
}

static int open_kernel(struct run *run, struct error *error)
{
    const struct kernel_options options = {
        .loop = &run->loop,
        .launcher = &run->launcher,
        .store = run->store,
        .slog = run->slog,
        .timeout_ms = run->options.timeout_ms,
    };
    const struct kernel_listener listener = {
        .context = run,
        .delivered = delivered,
        .failed = kernel_failed,
        .closed = kernel_closed,
    };

    run->kernel = kernel_new(&options, &listener, error);
    return run->kernel == NULL ? -1 : 0;
}

static int add_vats(struct run *run, struct error *error)
{
    for (size_t i = 0; i < run->options.vat_count; i++) {
        char *name = run->options.vats[i];
        char *equals = strchr(name, '=');

        *equals = '\0';
        if (kernel_add_vat(run->kernel, name, equals + 1, error) != 0)
            return -1;
    }
    return 0;
}

/* Runs the loop until all is closed. What failed in setting up is in *error. */
static void run_loop(struct run *run, int set_up, const struct error *error)
{
    if (set_up != 0 && run->kernel == NULL) {
        log_line("%s", error->text);
        run->status = (int)error->kind;
        kernel_closed(run);
    } else if (set_up != 0) {
        fail(run, error);
    } else {
        deliver_next(run);
    }
    (void)uv_run(&run->loop, UV_RUN_DEFAULT);
}

static void close_all(struct run *run)
{
    struct error error;

    kernel_free(run->kernel);
    /* A disk that failed the run before fails again here, and was spoken of. */
    if (slog_writer_close(run->slog, &error) != 0 && run->status != ERROR_SYSTEM) {
        log_line("%s", error.text);
        run->status = ERROR_SYSTEM;
    }
    store_close(run->store);
    launcher_close(&run->launcher);
    delivery_line_free(&run->line);
    (void)uv_loop_close(&run->loop); /* nothing is open on it any more */
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
    output_init(&run->output, run->options.json);
    result = open_launcher(run, &error);
    if (result == 0)
        result = open_files(run, &error);
    if (result == 0)
        result = open_handles(run, &error);
    if (result == 0)
        result = open_kernel(run, &error);
    if (result == 0)
        result = add_vats(run, &error);
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
