/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/format.h"
#include "supervisor/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/log.h"
#include "base/option/option.h"
#include "base/output/output_file.h"
#include "base/stamp.h"
#include "base/visible.h"
#include "supervisor/process/guest.h"
#include "supervisor/profile/profile_files.h"
#include "supervisor/trace/trace_options.h"
#include "supervisor/trace/trace_sources.h"
#include "supervisor/trace/trace_target.h"
#include "trace/calls/call_tree.h"
#include "trace/read/trace_archive.h"
#include "trace/read/trace_budget.h"
#include "trace/read/trace_file.h"
#include "trace/report/call_text.h"
#include "trace/report/request_slog.h"
#include "trace/report/trace_report.h"
#include "trace/ring/trace_ring.h"

enum {
    GATHERED_MOST = 1 << 18, /* bytes that are not written yet */
    SPANS_MOST = 1000,       /* calls of a delivery in a profile: as many as a screen has pixels */
};

/* The state of the command. */
struct trace {
    struct trace_options options;
    char program[PATH_MAX];
    struct trace_ring *ring;
    struct trace_throttle throttle;
    struct trace_sums *sums;
    struct trace_clock clock;
    struct traced_function *functions; /* owned */
    size_t function_count;
    struct trace_sources sources;
    struct trace_file file;        /* of --output */
    const struct patch_plan *plan; /* of the ring; NULL: nothing came from the agent */
    int status;                    /* the program's */
};

/* ---- what is read ---- */

static int on_trace_left_out(void *context, const uint32_t *functions, size_t count, int64_t at,
                             struct error *error)
{
    struct trace *const trace = context;

    return trace->options.output != NULL
               ? trace_file_left_out(&trace->file, 0, functions, count, at, error)
               : 0;
}

static int open_throttle(struct trace *trace, struct error *error)
{
    return trace_throttle_open(&trace->throttle, trace->ring, trace->options.overhead,
                               on_trace_left_out, trace, error);
}

static int on_trace_begun(void *context, uint32_t process, const struct patch_plan *plan,
                          struct error *error)
{
    struct trace *const trace = context;

    if (trace->options.output != NULL &&
        trace_file_process(&trace->file, 0, process, trace->program, plan, error) != 0)
        return -1;
    if (trace->options.requests.begin != NULL &&
        trace_file_requests(&trace->file, 0, plan, &trace->options.requests, error) != 0)
        return -1;
    trace->plan = plan;
    if (trace->ring != NULL && open_throttle(trace, error) != 0)
        return -1;
    trace->functions = calloc(plan->count, sizeof *trace->functions);
    if (trace->functions == NULL)
        return error_memory(error, "the functions of a program");
    trace->function_count = plan->count;
    for (size_t i = 0; i < plan->count; i++)
        trace->functions[i] = (struct traced_function){
            .name = plan->functions[i].name,
            .module = plan->modules[plan->functions[i].module],
            .address = plan->functions[i].address,
            .build_id = plan->build_ids[plan->functions[i].module],
        };
    return 0;
}

static int on_trace_events(void *context, unsigned lane, uint32_t thread, const uint64_t *events,
                           size_t count, struct error *error)
{
    struct trace *const trace = context;

    if (trace->options.output != NULL &&
        trace_file_events(&trace->file, 0, lane, thread, events, count, error) != 0)
        return -1;
    if (trace_sums_add(trace->sums, lane, events, count, error) != 0)
        return -1;
    return trace_throttle_add(&trace->throttle, events, count, error);
}

static int on_trace_ended(void *context, unsigned lane, struct error *error)
{
    struct trace *const trace = context;

    trace_sums_end_lane(trace->sums, lane);
    return trace->options.output != NULL ? trace_file_lane_ended(&trace->file, 0, lane, error) : 0;
}

/* 1: it has ended; 0: not yet; -1 with the error filled. */
static int wait_for_child(struct trace *trace, struct trace_child *child, bool busy,
                          struct error *error)
{
    enum { USUAL = 1000000 }; /* nanoseconds */
    const struct timespec moment = {.tv_nsec = trace_throttle_moment(&trace->throttle, USUAL)};
    const bool hurries = !busy && moment.tv_nsec < USUAL;

    if (hurries)
        (void)nanosleep(&moment, NULL);
    return trace_child_wait(child, busy || hurries ? 0 : 1, &trace->status, error);
}

/* Until the program has ended. */
static int follow_traced(struct trace *trace, struct trace_child *child, struct error *error)
{
    const struct trace_sink sink = {.context = trace,
                                    .begun = on_trace_begun,
                                    .events = on_trace_events,
                                    .ended = on_trace_ended};
    int ended = 0;

    while (ended == 0) {
        bool busy = false;

        if (trace_ring_step(trace->ring, &sink, &busy, error) != 0) {
            trace_ring_detach(trace->ring);
            return -1;
        }
        if (trace->file.gathered.length > GATHERED_MOST &&
            trace_file_flush(&trace->file, error) != 0) {
            trace_ring_detach(trace->ring);
            return -1;
        }
        ended = wait_for_child(trace, child, busy, error);
    }
    return ended < 0 ? -1 : trace_ring_finish(trace->ring, &sink, error);
}

/* ---- the report ---- */

static void put_outcomes(struct buf *out, const struct patch_plan *plan)
{
    size_t all = 0;

    for (int i = 0; i < TRACE_OUTCOMES; i++)
        all += plan->outcomes[i];
    buf_printf(out, "%zu of %zu functions traced", plan->outcomes[TRACE_PATCHED], all);
    for (int i = TRACE_PATCHED + 1; i < TRACE_OUTCOMES; i++)
        if (plan->outcomes[i] > 0)
            buf_printf(out, ", %zu %s", plan->outcomes[i],
                       trace_outcome_words((enum trace_outcome)i));
    if (plan->count > plan->outcomes[TRACE_PATCHED])
        buf_printf(out, ", and calls of %zu library functions",
                   plan->count - plan->outcomes[TRACE_PATCHED]);
    buf_append_byte(out, '\n');
}

static void put_counts(struct buf *out, const struct trace_counts *counts, uint64_t left_out)
{
    buf_printf(out, "%" PRIu64 " %s, %" PRIu64 " lost", counts->events,
               format_plural(counts->events, "event", "events"), counts->lost);
    if (counts->unwound > 0)
        buf_printf(out, "; %" PRIu64 " %s ended without returning", counts->unwound,
                   format_plural(counts->unwound, "call", "calls"));
    if (counts->unmatched > 0)
        buf_printf(out, "; %" PRIu64 " %s unmatched", counts->unmatched,
                   format_plural(counts->unmatched, "exit", "exits"));
    if (left_out > 0)
        buf_printf(out, "; %" PRIu64 " %s too many and left out", left_out,
                   format_plural(left_out, "thread was", "threads were"));
    buf_append_byte(out, '\n');
}

struct trace_left_out {
    const struct trace_exclusions *exclusions;
    uint32_t process;
    const char *name; /* the process's */
};

static const char *trace_name_of(void *context, uint32_t function)
{
    return trace_report_name(context, function);
}

/* Calls of a function in the process that has just been traced. */
static uint64_t calls_of_trace(void *context, uint32_t function)
{
    const struct trace_report *const of = context;
    uint64_t calls = 0;

    for (size_t i = 0; i < of->tree->count; i++)
        if (of->tree->nodes[i].function == function)
            calls += of->tree->nodes[i].calls;
    return calls;
}

/* Reports what was left out of one process. */
static int put_process_left_out(struct buf *out, const struct trace *trace,
                                const struct trace_report *of,
                                const struct trace_left_out *left_out, struct error *error)
{
    struct trace_report names = *of;
    const struct trace_exclusion_words words = {trace_name_of,
                                                trace->options.read == NULL ? calls_of_trace : NULL,
                                                &names, of->clock.first.mono};
    struct buf line = {0};
    int result;

    if (trace->options.json)
        return trace_exclusions_put_json(left_out->exclusions, left_out->process, left_out->name,
                                         &words, out, error);
    result = trace_exclusions_put(left_out->exclusions, left_out->process, &words, &line, error);
    if (result == 0 && line.length > 0) {
        if (trace->options.read != NULL)
            buf_printf(out, "%s: ", left_out->name);
        buf_append(out, line.data, line.length);
        buf_append_byte(out, '\n');
    }
    buf_free(&line);
    return result;
}

/* The same for the traced process, or for all of the trace that was read. */
static int put_left_out(struct buf *out, const struct trace *trace, const struct trace_report *of,
                        const struct archive *archive, struct error *error)
{
    struct trace_left_out left_out = {&trace->throttle.exclusions, 0, trace->program};

    if (archive == NULL)
        return put_process_left_out(out, trace, of, &left_out, error);
    left_out.exclusions = &archive->exclusions;
    for (; left_out.process < archive->process_count; left_out.process++) {
        left_out.name = archive->process_names[left_out.process];
        if (left_out.name != NULL && put_process_left_out(out, trace, of, &left_out, error) != 0)
            return -1;
    }
    return 0;
}

/* ---- files ---- */

static int write_trace_file(const char *path, const char *what, const struct trace_report *of,
                            int (*put)(struct buf *out, const struct trace_report *of,
                                       struct error *error),
                            struct error *error)
{
    struct buf text = {0};
    int result = 0;

    if (path == NULL)
        return 0;
    if (put(&text, of, error) != 0 || output_file_write_whole(path, what, &text, error) != 0)
        result = -1;
    buf_free(&text);
    return result;
}

/* May be large; compressed if its name ends in .zst. */
static int write_trace_profile(const char *path, const struct trace_report *of, struct error *error)
{
    struct profile_files files = {0};
    struct error ignored;
    int result;

    if (path == NULL)
        return 0;
    result = profile_files_open(&files, (struct profile_paths){.json = path}, error);
    if (result == 0)
        result = trace_report_put_deliveries(&files.files[0].gathered, of, error);
    return profile_files_close(&files, result == 0 ? error : &ignored) == 0 ? result : -1;
}

static int write_outputs(const struct trace_options *options, const struct trace_report *of,
                         struct error *error)
{
    if (write_trace_file(options->folded, "the folded stacks", of, trace_report_put_folded,
                         error) != 0)
        return -1;
    if (write_trace_profile(options->profile, of, error) != 0)
        return -1;
    return write_trace_file(options->callgrind, "the profile for callgrind", of,
                            trace_report_put_callgrind, error);
}

static int write_slog(const char *path, const struct archive *archive, struct error *error)
{
    struct buf text = {0};
    int result = 0;

    if (path != NULL && (request_slog_put(&text, archive, error) != 0 ||
                         output_file_write_whole(path, "the slogfile", &text, error) != 0))
        result = -1;
    buf_free(&text);
    return result;
}

static int write_trace_report(const struct trace_options *options, struct buf *report,
                              struct error *error)
{
    if (options->report != NULL)
        return output_file_write_whole(options->report, "the report", report, error);
    return visible_write(STDERR_FILENO, report->data, report->length) == 0
               ? 0
               : error_system(error, errno, "cannot write on stderr");
}

/* ---- a whole report ---- */

/* `archive` NULL: the process has just been traced. */
static int put_report(struct trace *trace, const struct trace_report *of,
                      const struct archive *archive, const struct trace_counts *counts,
                      struct error *error)
{
    struct buf text = {0};
    int result;

    if (trace_sources_fill(&trace->sources, of->tree, trace->functions, trace->function_count,
                           error) != 0)
        return -1;
    if (trace->options.json) {
        result = trace_report_put_json(&text, of, error);
    } else {
        result = trace_report_put_table(&text, of, (size_t)trace->options.top, error);
        if (archive == NULL)
            put_outcomes(&text, trace->plan);
        put_counts(&text, counts,
                   trace->ring != NULL ? trace_ring_threads_left_out(trace->ring) : 0);
    }
    if (result == 0)
        result = put_left_out(&text, trace, of, archive, error);
    if (result == 0)
        result = write_trace_report(&trace->options, &text, error);
    if (result == 0)
        result = write_outputs(&trace->options, of, error);
    if (result == 0 && archive != NULL)
        result = write_slog(trace->options.slog, archive, error);
    buf_free(&text);
    return result;
}

static int report_trace(struct trace *trace, struct error *error)
{
    const struct trace_report of = {
        .tree = &trace->sums->tree,
        .functions = trace->functions,
        .function_count = trace->plan->count,
        .clock = trace->clock,
    };
    const struct trace_counts counts = trace_sums_counts(trace->sums);

    call_tree_settle(&trace->sums->tree);
    return put_report(trace, &of, NULL, &counts, error);
}

static int report_archive(struct trace *trace, const struct archive *archive, struct error *error)
{
    const struct trace_report of = {
        .tree = &archive->tree,
        .functions = trace->functions,
        .function_count = archive->function_count,
        .deliveries = archive->deliveries,
        .delivery_count = archive->delivery_count,
        .spans = &archive->spans,
        .clock = archive->clock,
    };

    trace->function_count = archive->function_count;
    for (size_t i = 0; i < archive->function_count; i++)
        trace->functions[i] = (struct traced_function){
            .name = archive->functions[i].name,
            .module = archive->modules[archive->functions[i].module].path,
            .address = archive->functions[i].address,
            .build_id = archive->modules[archive->functions[i].module].build_id,
        };
    if (archive->torn)
        log_line("%s ends in the middle: its writer was killed", trace->options.read);
    return put_report(trace, &of, archive, &archive->counts, error);
}

static int read_archive(const struct trace *trace, struct archive *archive, struct error *error)
{
    const struct trace_options *const options = &trace->options;
    const size_t spans = options->profile != NULL ? SPANS_MOST : 0;
    struct perfetto perfetto;
    int result;

    if (options->perfetto == NULL)
        return archive_read(archive, options->read, spans, NULL, error);
    perfetto_open(&perfetto, options->perfetto, options->read, archive);
    result = archive_read(archive, options->read, spans, &perfetto.listener, error);
    return perfetto_close(&perfetto, result, error);
}

static int read_trace(struct trace *trace, struct error *error)
{
    struct archive archive;
    int result = read_archive(trace, &archive, error);

    if (result == 0) {
        trace->functions = calloc(archive.function_count + 1, sizeof *trace->functions);
        result = trace->functions != NULL ? report_archive(trace, &archive, error)
                                          : error_memory(error, "a trace");
    }
    archive_free(&archive);
    return result;
}

/* ---- calls in order ---- */

static int write_lines(void *context, const struct buf *lines, struct error *error)
{
    (void)context;
    return visible_write(STDOUT_FILENO, lines->data, lines->length) == 0
               ? 0
               : io_fail_stdout("cannot write to stdout", error);
}

static int print_calls(const struct trace *trace, struct error *error)
{
    const char *const path = trace->options.read;
    struct archive archive;
    struct call_text text;
    int result;

    call_text_open(&text, &archive);
    result = archive_read(&archive, path, 0, &text.listener, error);
    if (result == 0 && archive.torn)
        log_line("%s ends in the middle: its writer was killed", path);
    if (result == 0)
        result = call_text_put(&text, write_lines, NULL, error);
    call_text_close(&text);
    archive_free(&archive);
    return result;
}

/* ---- the whole ---- */

static bool is_in_sources(void *context, const char *module, uint64_t address)
{
    struct trace *const trace = context;

    return trace_sources_match(&trace->sources, module, address, &trace->options.sources);
}

static struct trace_ring_options ring_options(struct trace *trace)
{
    if (trace->options.sources.count > 0) {
        trace->options.choice.is_wanted = is_in_sources;
        trace->options.choice.context = trace;
    }
    return (struct trace_ring_options){
        .choice = trace->options.choice,
        .program = trace->program,
        .libraries = trace->options.libraries,
        .policy = trace->options.policy,
        .clock = trace->options.clock,
        .lanes = TRACE_LANES_DEFAULT,
        .lane_chunks = trace->options.overhead != 0 ? TRACE_CHUNKS_BUDGET : TRACE_CHUNKS_DEFAULT,
    };
}

static int open_outputs(struct trace *trace, struct error *error)
{
    if (trace_sums_open(trace->sums, error) != 0)
        return -1;
    if (trace->options.output != NULL &&
        trace_file_open(&trace->file, trace->options.output, trace->options.clock, error) != 0)
        return -1;
    trace->clock.first = trace_moment_now();
    trace->clock.kind = trace->options.clock;
    return 0;
}

static int close_outputs(struct trace *trace, struct error *error)
{
    trace->clock.last = trace_moment_now();
    if (trace->options.output == NULL)
        return 0;
    if (trace_file_clock(&trace->file, trace->clock.first, error) != 0 ||
        trace_file_clock(&trace->file, trace->clock.last, error) != 0)
        return -1;
    return trace_file_close(&trace->file, error);
}

/* ---- a process that runs already ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static bool is_trace_over(const struct trace *trace, const struct trace_attached *attached,
                          int64_t began)
{
    struct pollfd end = {.fd = attached->pidfd, .events = POLLIN};
    const int64_t limit = (int64_t)trace->options.milliseconds * 1000000;

    return interrupted != 0 || poll(&end, 1, 1) > 0 ||
           (limit != 0 && stamp_now().mono - began >= limit);
}

static int follow_attached(struct trace *trace, const struct trace_sink *sink,
                           struct trace_attached *attached, struct error *error)
{
    const int64_t began = stamp_now().mono;
    struct error ignored;
    bool busy;

    while (!is_trace_over(trace, attached, began)) {
        if (trace_ring_step(trace->ring, sink, &busy, error) == 0 &&
            (trace->file.gathered.length <= GATHERED_MOST ||
             trace_file_flush(&trace->file, error) == 0))
            continue;
        (void)trace_detach(attached, &ignored);
        return -1;
    }
    if (trace_detach(attached, error) != 0)
        return -1;
    return trace_ring_finish(trace->ring, sink, error);
}

/* Users wait for this line before they start their work. Not between the lines of a report on
 * stderr. */
static void log_attached(const struct trace *trace)
{
    if (trace->options.report != NULL || !trace->options.json)
        log_line("process %" PRIu64 " is traced, %zu functions", trace->options.process,
                 trace_ring_patches(trace->ring));
}

static int trace_attached(struct trace *trace, struct error *error)
{
    const struct trace_sink sink = {.context = trace,
                                    .begun = on_trace_begun,
                                    .events = on_trace_events,
                                    .ended = on_trace_ended};
    struct trace_ring_options options = ring_options(trace);
    struct trace_attached attached;
    int result;

    if (open_outputs(trace, error) != 0)
        return -1;
    result = trace_attach(&attached, (pid_t)trace->options.process, &options, &sink, error);
    trace->ring = attached.ring;
    if (result == 0)
        result = open_throttle(trace, error);
    if (result == 0)
        log_attached(trace);
    if (result == 0)
        result = follow_attached(trace, &sink, &attached, error);
    if (attached.pidfd >= 0)
        close(attached.pidfd);
    if (result != 0 || close_outputs(trace, error) != 0)
        return -1;
    return report_trace(trace, error);
}

/*
 * The hazard: SIGKILL, or a terminal that closes, would leave the process patched. So a child
 * traces it, in a session of its own, and gets SIGTERM when this process ends in whatever way.
 * SIGKILL to both is left to the next gaspipe trace.
 */
static pid_t tracing_child;

static void forward_signal(int number)
{
    if (tracing_child > 0)
        (void)kill(tracing_child, number);
}

static bool handle_endings(void (*handler)(int number))
{
    const struct sigaction action = {.sa_handler = handler};

    return sigaction(SIGINT, &action, NULL) == 0 && sigaction(SIGTERM, &action, NULL) == 0;
}

static int wait_for_tracing_child(struct trace *trace, struct error *error)
{
    int status;

    while (waitpid(tracing_child, &status, 0) < 0)
        if (errno != EINTR)
            return error_system(error, errno, "cannot wait for the process that traces");
    trace->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return 0;
}

/* Signals are blocked until the process knows which of the two it is. */
static int attach_to(struct trace *trace, struct error *error)
{
    const pid_t parent = getpid();
    sigset_t endings, before;
    bool good;

    (void)sigemptyset(&endings);
    (void)sigaddset(&endings, SIGINT);
    (void)sigaddset(&endings, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &endings, &before);
    good = handle_endings(forward_signal) && (tracing_child = fork()) >= 0;
    if (good && tracing_child == 0)
        good =
            handle_endings(on_interrupt) && setsid() >= 0 && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0;
    if (!good)
        error_system(error, errno, "cannot start a process that traces");
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (!good)
        return -1;
    if (tracing_child > 0)
        return wait_for_tracing_child(trace, error);
    if (getppid() != parent)
        interrupted = 1;
    return trace_attached(trace, error);
}

/* ---- a program that is started ---- */

static int run_traced_program(struct trace *trace, struct error *error)
{
    const struct trace_ring_options options = ring_options(trace);
    struct trace_child child;

    if (guest_find_program(trace->options.arguments[0], trace->program, error) != 0)
        return -1;
    trace->ring = trace_ring_new(&options, -1, error);
    if (trace->ring == NULL || open_outputs(trace, error) != 0)
        return -1;
    if (trace_child_start(&child, trace->program, trace->options.arguments,
                          trace_ring_fd(trace->ring), error) != 0)
        return -1;
    /* An interrupt at the terminal is the program's, whose end is reported. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    if (follow_traced(trace, &child, error) != 0)
        return -1;
    if (close_outputs(trace, error) != 0)
        return -1;
    if (trace->plan != NULL && trace_ring_attach_check(trace->ring)[0] == '\0')
        return report_trace(trace, error);
    return error_set(error, ERROR_INPUT, "%s was not traced: %s", trace->program,
                     trace_ring_attach_check(trace->ring)[0] != '\0'
                         ? trace_ring_attach_check(trace->ring)
                         : "the agent was not loaded into it");
}

static int run_trace(struct trace *trace, struct error *error)
{
    if (trace->options.read != NULL)
        return trace->options.text ? print_calls(trace, error) : read_trace(trace, error);
    if (trace_machine_check(error) != 0)
        return -1;
    return trace->options.process != 0 ? attach_to(trace, error) : run_traced_program(trace, error);
}

static void close_trace(struct trace *trace)
{
    if (trace->sums != NULL)
        trace_sums_close(trace->sums);
    free(trace->sums);
    for (size_t i = 0; i < trace->function_count; i++)
        free(trace->functions[i].inlined);
    free(trace->functions);
    trace_sources_close(&trace->sources);
    trace_throttle_close(&trace->throttle);
    trace_ring_free(trace->ring);
    trace_file_drop(&trace->file);
    trace_options_free(&trace->options);
}

int trace_command(int argc, char **argv)
{
    struct trace trace = {.sums = calloc(1, sizeof *trace.sums)};
    struct error error;
    enum option_result parsed = trace_options_parse(&trace.options, argc, argv, &error);
    int status;

    if (parsed != OPTION_TAKEN) {
        status = option_end(&trace_options_table, parsed, &error);
    } else if ((trace.sums == NULL && error_memory(&error, "a trace") != 0) ||
               run_trace(&trace, &error) != 0) {
        log_line("%s", error.text);
        status = (int)error.kind;
    } else {
        status = trace.status;
    }
    close_trace(&trace);
    return status;
}
