/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/format.h"
#include "supervisor/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/output/spool.h"
#include "base/service.h"
#include "supervisor/common_options.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/profile/native_session.h"
#include "supervisor/profile/profile_files.h"
#include "supervisor/run/output.h"
#include "supervisor/run/run_compiled.h"
#include "supervisor/run/run_lines.h"
#include "supervisor/run/run_options.h"
#include "supervisor/run/run_vats.h"
#include "supervisor/run/stop_signals.h"
#include "supervisor/schedule/log/delivery_report.h"
#include "supervisor/schedule/scheduler.h"
#include "supervisor/trace/trace_session.h"

/* ---- profiles ---- */

/* The profiles that a run writes. All zeros: none. */
struct run_profiles {
    struct profile_files files;    /* by function and line of contracts */
    struct native_session *native; /* by native function; NULL: not asked for */
};

static int check_paths(const struct run_options *options, struct profile_paths paths,
                       struct error *error)
{
    const struct option_list *const lists[] = {&options->vats, &options->new_vats,
                                               &options->upgrades};

    if (profile_files_check_input(paths, options->deliveries, error) != 0)
        return -1;
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++)
        for (size_t i = 0; i < lists[list]->count; i++)
            if (profile_files_check_input(paths, strchr(lists[list]->items[i], '=') + 1, error) !=
                0)
                return -1;
    return 0;
}

/*
 * Creates the files that the options ask for, and has the launcher's workers profiled. -1 with
 * ERROR_SYSTEM, or with ERROR_USAGE where one of them is the deliveries file or a contract;
 * run_profiles_close() in any case.
 */
static int run_profiles_open(struct run_profiles *profiles, const struct run_options *options,
                             struct launch_config *launcher, struct error *error)
{
    const struct profile_paths paths = {options->profile, options->profile_folded};
    const struct profile_paths native = {options->native_profile, options->native_folded};

    if (check_paths(options, paths, error) != 0 || check_paths(options, native, error) != 0 ||
        profile_files_open(&profiles->files, paths, error) != 0)
        return -1;
    if (native.json == NULL && native.folded == NULL)
        return 0;
    profiles->native = native_session_open(
        native, options->counters.qemu ? NATIVE_INSTRUCTIONS : NATIVE_BLOCK_COST, error);
    if (profiles->native == NULL)
        return -1;
    launcher->native_profile = native_session_launcher(profiles->native);
    return 0;
}

/* As the functions of profile_files.h, for all files. */
static int run_profiles_add(struct run_profiles *profiles, const struct delivery_report *report,
                            struct error *error)
{
    const struct profiled_delivery delivery = {
        .delivery = {.vat_id = report->vat_id,
                     .vat = report->vat,
                     .method = report->method,
                     .crank_num = report->crank_num,
                     .delivery_num = report->delivery_num},
        .profile = report->profile,
        .counted = report->instructions != REPORT_NONE,
        .instructions = (uint64_t)report->instructions,
        .costed = report->block_cost != REPORT_NONE,
        .block_cost = (uint64_t)report->block_cost,
    };

    if (profile_files_add(&profiles->files, &delivery, error) != 0)
        return -1;
    if (profiles->native == NULL || report->worker_began == 0)
        return 0;
    return native_session_add(profiles->native, &delivery, report->worker_began,
                              report->worker_ended, error);
}

/* The files of both; a second that is not there is empty. */
static struct profile_files *files_of(struct run_profiles *profiles, bool native)
{
    static struct profile_files none;

    if (!native)
        return &profiles->files;
    return profiles->native != NULL ? native_session_files(profiles->native) : &none;
}

static void run_profiles_keep(struct run_profiles *profiles)
{
    profile_files_keep(files_of(profiles, false));
    profile_files_keep(files_of(profiles, true));
}

static void run_profiles_undo(struct run_profiles *profiles)
{
    profile_files_undo(files_of(profiles, false));
    profile_files_undo(files_of(profiles, true));
}

static int run_profiles_flush(struct run_profiles *profiles, struct error *error)
{
    if (profile_files_flush(files_of(profiles, false), error) != 0)
        return -1;
    return profile_files_flush(files_of(profiles, true), error);
}

static void run_profiles_drop(struct run_profiles *profiles)
{
    profile_files_drop(files_of(profiles, false));
    profile_files_drop(files_of(profiles, true));
}

/* When all workers have ended. */
static int run_profiles_close(struct run_profiles *profiles, struct error *error)
{
    int result = profile_files_close(&profiles->files, error);

    if (native_session_close(profiles->native, error) != 0)
        result = -1;
    profiles->native = NULL;
    return result;
}

/* ---- the run ---- */

enum { PROGRESS_MS = 5000 };

/* In addition to 128 and a signal, and the kinds of errors. */
enum { RUN_QUARANTINE = 5 };

struct run {
    struct run_options options;
    uv_loop_t loop;
    struct stop_signals signals;
    uv_timer_t progress, watchdog; /* both open while progress_open */
    bool progress_open;
    struct confinement confinement;
    struct run_profiles profiles;
    struct trace_session *trace; /* NULL: functions are not traced */
    struct launch_config launcher;
    struct compiled_cache compiled; /* with --wasm compiled */
    struct placement placement;
    struct fingerprint fingerprint; /* of the counter, with counted workers */
    struct store *store;
    struct slog_writer *slog;
    struct speculation_source upcoming;
    struct scheduler *scheduler;
    struct run_lines lines;
    struct output output;

    bool ending;
    int status;     /* exit status so far */
    uint64_t began; /* nanoseconds, uv_hrtime() */
};

/* ---- ending ---- */

/* Sets the exit status: the error's kind, or the signal that abandoned a wait. */
static void report_error(struct run *run, const struct error *error)
{
    static const char advice[] = "restore the store from a copy";
    const bool lacks_advice = error->is_damage && strstr(error->text, advice) == NULL;

    if (run->output.closed) {
        run->status = 128 + SIGPIPE;
        return;
    }
    log_line("%s%s%s", error->text, lacks_advice ? "; " : "", lacks_advice ? advice : "");
    run->status = (int)error->kind;
    if (error->kind == ERROR_SYSTEM && io_waits_are_abandoned())
        run->status = 128 + stop_signals_number();
}

/* `drop`: without committing. */
static void end_run(struct run *run, bool drop)
{
    struct error error;

    run->ending = true;
    if (run_lines_stop(&run->lines, !drop, &error) != 0) {
        report_error(run, &error);
        drop = true;
    }
    scheduler_close(run->scheduler, drop);
    output_drop(&run->output); /* what was committed is printed */
    run_profiles_drop(&run->profiles);
}

static void fail_run(struct run *run, const struct error *error)
{
    report_error(run, error);
    end_run(run, error->kind == ERROR_SYSTEM);
}

static void run_on_signal(struct stop_signals *signals, int number)
{
    struct run *run = signals->context;

    scheduler_shorten_timeout(run->scheduler);
    /* The work is done; another status would have the run started again for nothing. */
    if (run->ending)
        return;
    log_line("ended by signal %d (%s); what was delivered before is kept", number,
             strsignal(number));
    /* A stream has no other end. */
    if (run->options.from == NULL)
        run->status = 128 + number;
    end_run(run, false);
}

/* ---- what the scheduler reports ---- */

/* Programs get the whole of it: stack and source. */
static void print_rejected(struct run *run, const struct delivery_report *report)
{
    struct error error;

    if (!run->options.json)
        return;
    if (output_delivery(&run->output, report, &error) != 0 ||
        output_flush_all(&run->output, &error) != 0)
        log_line("%s", error.text);
}

/* A contract that cannot be started is bad input: nothing of the run is kept. */
static void reject_contract(struct run *run, const struct delivery_report *report, const char *path)
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
    print_rejected(run, report);
    end_run(run, true);
    buf_free(&shown);
}

static int note_end(struct run *run, const struct delivery_report *report, struct error *error)
{
    if (!report->vat_ended)
        return 0;
    return run_vats_note_ended(run->store, report->vat,
                               report->error != NULL ? report->error : "it ended by itself", error);
}

static int note_run_trace(const struct run *run, const struct delivery_report *report,
                          struct error *error)
{
    const struct trace_delivery delivery = {
        .vat_id = report->vat_id,
        .vat = report->vat,
        .method = report->method,
        .crank_num = report->crank_num,
        .delivery_num = report->delivery_num,
        .begin = report->worker_began,
        .end = report->worker_ended,
    };

    if (run->trace == NULL || report->worker_began == 0)
        return 0;
    return trace_session_delivery(run->trace, &delivery, error);
}

static void keep_crank(struct run *run)
{
    output_advance(&run->output, OUTPUT_KEPT);
    run_profiles_keep(&run->profiles);
}

static void run_on_delivered(void *context, const struct delivery_report *report)
{
    struct run *run = context;
    struct delivery_report placed = *report;
    const char *path = run_vats_path(&run->options, report->vat);
    char place[RUN_LINES_PLACE_SIZE];
    struct error error;

    placement_gather(&run->placement);
    run_lines_make_place(&run->lines, place);
    placed.file = path;
    placed.place = run->lines.started ? place : NULL;
    if (!report->ok && !run->lines.started && path != NULL &&
        strcmp(report->dispatch, "startVat") == 0) {
        reject_contract(run, report, path);
        return;
    }
    if (!report->ok)
        run->status = ERROR_DELIVERY;
    run_lines_shown(&run->lines, report);
    if (run_lines_is_rejected(&run->lines, report, &placed.rejected, &error) != 0 ||
        output_delivery(&run->output, &placed, &error) != 0 || note_end(run, report, &error) != 0 ||
        run_profiles_add(&run->profiles, report, &error) != 0 ||
        note_run_trace(run, report, &error) != 0)
        fail_run(run, &error);
    else if (report->crank_ended)
        keep_crank(run);
}

static void run_on_undone(void *context)
{
    struct run *run = context;

    output_undo(&run->output);
    run_profiles_undo(&run->profiles);
}

static void run_on_idle(void *context)
{
    struct run *run = context;

    run_lines_continue(&run->lines);
}

static void run_on_committed(void *context)
{
    struct run *run = context;
    struct error error;

    output_advance(&run->output, OUTPUT_COMMITTED);
    run_lines_advance(&run->lines, RESULTS_COMMITTED);
    if (run_profiles_flush(&run->profiles, &error) != 0)
        fail_run(run, &error);
}

static void run_on_syncing(void *context)
{
    struct run *run = context;

    output_advance(&run->output, OUTPUT_SYNCING);
    run_lines_advance(&run->lines, RESULTS_SYNCING);
}

static void run_on_durable(void *context)
{
    struct run *run = context;
    struct error error;

    if (output_flush(&run->output, &error) == 0)
        run_lines_advance(&run->lines, RESULTS_PRINTED);
    else if (run->status != ERROR_SYSTEM && run->status < 128) /* reported before */
        fail_run(run, &error);
}

static void run_on_failed(void *context, const struct error *error)
{
    fail_run(context, error);
}

/* ---- what the lines report ---- */

static void run_on_lines_ended(void *context)
{
    struct run *run = context;
    struct error error;

    if (run_vats_log_quarantined(scheduler_kernel(run->scheduler), &run->output.quarantined,
                                 &error) != 0) {
        fail_run(run, &error);
        return;
    }
    if (run->output.quarantined > 0) {
        run->output.begun = true;
        run->status = RUN_QUARANTINE;
    }
    end_run(run, false);
}

static void run_on_message_failed(void *context)
{
    struct run *run = context;

    run->status = ERROR_DELIVERY;
}

/* ---- when the scheduler has closed ---- */

/*
 * A signal that comes now changes nothing, unless the last lines cannot be written: the status
 * of a finished run must not be that of one that is to be started again.
 */
static void close_handles(struct run *run)
{
    stop_signals_close(&run->signals);
    if (run->progress_open) {
        uv_close((uv_handle_t *)&run->progress, NULL);
        uv_close((uv_handle_t *)&run->watchdog, NULL);
    }
    run->progress_open = false;
}

static void run_on_closed(void *context)
{
    struct run *run = context;
    struct error error;

    close_handles(run);
    if (run_lines_finish(&run->lines, &error) != 0 && run->status != ERROR_SYSTEM) {
        report_error(run, &error);
    }
    run_lines_close(&run->lines);
}

static void show_run_progress(uv_timer_t *timer)
{
    const struct run *run = timer->data;

    log_line("%" PRId64 " %s, %" PRId64 " failed, %.0f s", run->output.sums.deliveries,
             format_plural((uint64_t)run->output.sums.deliveries, "delivery", "deliveries"),
             run->output.sums.failed, (double)(uv_hrtime() - run->began) / 1e9);
}

static void report_alive(uv_timer_t *timer)
{
    (void)timer;
    service_alive();
}

/* ---- setting up, and the way back ---- */

/* Until then a signal ends the process, wherever it waits: nothing was done yet. */
static int open_run_handles(struct run *run, struct error *error)
{
    const uint64_t period = (uint64_t)service_watchdog_ms();

    /* Neither can fail in any libuv 1. */
    (void)uv_timer_init(&run->loop, &run->progress);
    (void)uv_timer_init(&run->loop, &run->watchdog);
    run->progress.data = run;
    run->progress_open = true;
    /* At a terminal the lines themselves show the progress. */
    if (!isatty(STDOUT_FILENO))
        (void)uv_timer_start(&run->progress, show_run_progress, PROGRESS_MS, PROGRESS_MS);
    if (period > 0)
        (void)uv_timer_start(&run->watchdog, report_alive, 0, period);
    run->signals.came = run_on_signal;
    run->signals.context = run;
    return stop_signals_open(&run->signals, &run->loop, error);
}

static int open_slog(struct run *run, struct error *error)
{
    const struct slog_start start = {
        .program = "gaspipe " GASPIPE_VERSION,
        .stamp = stamp_now(),
        .rotation = run->options.rotation,
        .sandbox = confinement_description(&run->confinement),
        .fingerprint = run->launcher.counted ? run->fingerprint.hash : NULL,
    };

    run->slog = slog_writer_open(run->options.slog, &start, error);
    return run->slog == NULL ? -1 : 0;
}

static int open_run_launcher(struct run *run, struct error *error)
{
    const struct run_options *options = &run->options;
    int result = confinement_open(&run->confinement, options->sandbox, error);

    if (result == 0)
        run->output.sandbox = confinement_description(&run->confinement);
    run->output.slog = options->slog;
    if (result != 0)
        return -1;
    if (options->worker != NULL)
        result =
            launcher_open_xsnap(&run->launcher, options->worker, options->compute_limit, error);
    else
        result = launcher_open(&run->launcher, options->counters, options->compute_limit, error);
    run->launcher.limits.instructions = options->instruction_limit;
    run->launcher.limits.cost =
        common_options_cost(options->cost_given, options->cost_limit, options->counters);
    run->launcher.memory_limit = (uint64_t)run->options.memory_limit;
    run->launcher.profile = options->profile != NULL || options->profile_folded != NULL;
    run->launcher.confinement = &run->confinement;
    run->launcher.placement = &run->placement;
    if (result == 0 && run->launcher.counted)
        result = fingerprint_take_launcher(&run->fingerprint, &run->launcher, LAUNCHER_JAVASCRIPT,
                                           error);
    return result == 0 ? placement_open(&run->placement, options->placement, PLACEMENT_NO_SLOT,
                                        options->jobs > 1, error)
                       : -1;
}

static int open_trace(struct run *run, struct error *error)
{
    if (run->options.trace.path == NULL)
        return 0;
    if (output_file_check(run->options.trace.path, "the trace", run->options.deliveries, error) !=
        0)
        return -1;
    run->trace = trace_session_open(&run->options.trace, error);
    if (run->trace == NULL)
        return -1;
    run->launcher.trace = trace_session_launcher(run->trace);
    return 0;
}

static int open_run_files(struct run *run, struct error *error)
{
    if (run_vats_check_store(&run->options, error) != 0)
        return -1;
    run->lines.store = run->store = store_open(run->options.store, error);
    spool_keep_in(run->options.store);
    if (run->store == NULL)
        return -1;
    if (run_profiles_open(&run->profiles, &run->options, &run->launcher, error) != 0 ||
        open_trace(run, error) != 0)
        return -1;
    return run->options.slog == NULL ? 0 : open_slog(run, error);
}

/* Well below what the host gives, so that it is the engine's limit which a vat meets: that one
 * comes out the same in every run. */
static int64_t heap_limit(const struct run_options *options)
{
    if (options->heap_limit > 0 || options->memory_limit == 0)
        return options->heap_limit;
    return options->memory_limit / 2 > KERNEL_HEAP_MIN ? options->memory_limit / 2
                                                       : KERNEL_HEAP_MIN;
}

static bool unlimited(bool given, uint64_t limit)
{
    return given && limit == 0;
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
                .cost = (int64_t)run->options.cost_limit,
                .counted_instructions =
                    unlimited(run->options.instructions_given, run->options.instruction_limit)
                        ? 0
                        : RUN_COUNTED_INSTRUCTIONS,
                .metered_cost = unlimited(run->options.cost_given, run->options.cost_limit)
                                    ? 0
                                    : COMMON_OPTIONS_METERED_COST,
                .heap_bytes = heap_limit(&run->options),
                .syscalls = (int64_t)run->options.syscall_limit,
                .store_bytes = run->options.store_limit,
                .message_bytes = run->options.message_limit,
                .transfer_bytes = run->options.transfer_limit,
            },
        .retries = run->options.retries,
        .cranks_per_commit = run->options.cranks_per_commit,
        /* A profile has only what is committed. */
        .commits_in_place = run->profiles.files.count > 0 || run->profiles.native != NULL,
        .max_workers = run->options.max_workers,
        .jobs = run->options.jobs,
        .upcoming = &run->upcoming,
    };
    const struct scheduler_listener listener = {
        .context = run,
        .delivered = run_on_delivered,
        .undone = run_on_undone,
        .idle = run_on_idle,
        .committed = run_on_committed,
        .syncing = run_on_syncing,
        .durable = run_on_durable,
        .failed = run_on_failed,
        .closed = run_on_closed,
    };

    run->upcoming = upcoming_lines_source(&run->lines.upcoming);
    run->scheduler = scheduler_new(&options, &listener, error);
    return run->scheduler == NULL ? -1 : 0;
}

static int open_lines(struct run *run, struct error *error)
{
    run->lines.options = &run->options;
    run->lines.loop = &run->loop;
    run->lines.scheduler = run->scheduler;
    run->lines.output = &run->output;
    run->lines.listener = (struct run_lines_listener){
        .context = run,
        .ended = run_on_lines_ended,
        .failed = run_on_failed,
        .message_failed = run_on_message_failed,
    };
    return run_lines_open(&run->lines, error);
}

/* The workers find what is compiled. */
static int compile_vats(struct run *run, struct error *error)
{
    if (run->options.wasm != RUN_WASM_COMPILED)
        return 0;
    if (compiled_cache_open(&run->compiled, &run->confinement, error) != 0)
        return -1;
    run->launcher.compiled = run->compiled.directory;
    return run_compiled_provide(&run->compiled, &run->options, run->store,
                                scheduler_kernel(run->scheduler), error);
}

static void report_missing_profile(const struct run_options *options)
{
    if (options->profile != NULL || options->profile_folded != NULL)
        log_line(
            "--profile%s: has no lines for contracts in WebAssembly; --json prints their gas by "
            "cost, as gasProfile",
            options->profile != NULL ? "" : "-folded");
}

static int add_vats(struct run *run, struct error *error)
{
    struct kernel *kernel = scheduler_kernel(run->scheduler);
    bool any;

    if (run_vats_add(&run->options, run->store, kernel, &any, error) != 0 ||
        compile_vats(run, error) != 0 || run_vats_raise_files(&run->options, kernel, error) != 0)
        return -1;
    if (any) {
        output_show_burnt(&run->output);
        report_missing_profile(&run->options);
    }
    /* A misspelt name would leave its vat in the store. */
    if (run_vats_any_new(&run->options, kernel, &any, error) != 0 ||
        (any && run_lines_check_names(&run->lines, error) != 0))
        return -1;
    if (!run_lines_in_batch(&run->lines))
        return 0;
    /* startVat of new vats comes before any further line. */
    return any ? run_lines_end_batch(&run->lines, error) : 0;
}

/* Runs the loop until everything is closed. If setting up failed, *error says why. */
static void run_event_loop(struct run *run, int set_up, const struct error *error)
{
    if (set_up != 0 && run->scheduler == NULL) {
        log_line("%s", error->text);
        run->status = (int)error->kind;
        run_on_closed(run);
    } else if (set_up != 0) {
        report_error(run, error);
        end_run(run, true);
    } else {
        service_ready();
        scheduler_start(run->scheduler, run_lines_in_batch(&run->lines));
    }
    (void)uv_run(&run->loop, UV_RUN_DEFAULT);
}

static void close_run(struct run *run)
{
    struct error error;

    scheduler_free(run->scheduler);
    run_lines_free(&run->lines);
    /* A disk that failed the run fails again here, and was reported before. */
    if (run_profiles_close(&run->profiles, &error) != 0 && run->status != ERROR_SYSTEM)
        report_error(run, &error);
    if (trace_session_close(run->trace, &error) != 0 && run->status != ERROR_SYSTEM)
        report_error(run, &error);
    if (slog_writer_close(run->slog, &error) != 0 && run->status != ERROR_SYSTEM)
        report_error(run, &error);
    store_close_unused(run->store);
    launcher_close(&run->launcher);
    confinement_close(&run->confinement);
    fingerprint_free(&run->fingerprint);
    output_free(&run->output);
    (void)uv_loop_close(&run->loop); /* nothing is open on it */
}

/* The limit of struct scheduler_options. */
static void settle_jobs(struct run_options *options)
{
    if (options->jobs == 1 || options->max_workers == 0 || options->slog == NULL)
        return;
    log_line("running one job, not %" PRIu64 ": with --max-workers, several would change the slog",
             options->jobs);
    options->jobs = 1;
}

static void run_and_close(struct run *run)
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
    output_init(&run->output, run->options.json, run->options.counters.compiled,
                run->options.priced ? &run->options.gas : NULL);
    result = open_run_launcher(run, &error);
    if (result == 0)
        result = open_run_files(run, &error);
    if (result == 0)
        result = open_scheduler(run, &error);
    if (result == 0)
        result = open_lines(run, &error);
    if (result == 0)
        result = add_vats(run, &error);
    if (result == 0)
        result = run_vats_queue_operations(&run->options.operations, run->store,
                                           scheduler_kernel(run->scheduler), &error);
    if (result == 0)
        result = open_run_handles(run, &error);
    run_event_loop(run, result, &error);
    if (run->output.begun &&
        output_summary(&run->output, (double)(uv_hrtime() - run->began) / 1e9, &error) != 0) {
        report_error(run, &error);
    }
    if (run->options.placement_given)
        placement_explain_busy(&run->placement, &run->output.sums.cpu_waits,
                               run->output.sums.total);
    close_run(run);
}

int run_command(int argc, char **argv)
{
    struct run run = {0};
    struct error error;
    enum option_result parsed;

    parsed = run_options_parse(&run.options, argc, argv, &error);
    if (parsed == OPTION_TAKEN)
        run_and_close(&run);
    else
        run.status = option_end(&run_options_table, parsed, &error);
    run_options_free(&run.options);
    return run.status;
}
