/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <uv.h>

#include "base/array.h"
#include "base/error.h"
#include "base/io.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/guest.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_result.h"
#include "supervisor/replay/replay_run.h"
#include "supervisor/replay/source/source.h"

/* ---- parts in processes of their own ---- */

/*
 * A replay in several processes, each of which is gaspipe replay with our command line, options
 * of its own in front, and JSON lines as its output.
 */

enum { REPLAY_JOB_OPTIONS = 4 };

/* The work of one process. */
struct replay_job {
    const char *options[REPLAY_JOB_OPTIONS]; /* borrowed; NULL after the last, --part=I/N */
    int64_t weight;                          /* the heaviest are started first */
};

struct replay_children {
    const struct replay_job *jobs; /* borrowed; so is all of it */
    size_t job_count;
    size_t at_once; /* as many run at the same time, at least 1 */
    int argc;       /* of the command line; argv[0] is "replay" */
    char **argv;
    bool json; /* prints the jobs' notes as JSON lines */
};

/* The results of all jobs. */
struct replay_parts {
    struct replay_result **results; /* owned; the first of each job, then the second ... */
    size_t count, capacity;
};

/* A child's working directory as a descriptor: children start in "/". */
enum { DIRECTORY_FD = 3, CHILD_FDS };

/* A job's process. */
struct child {
    struct child_process process; /* first: its callback is given this */
    struct runner *runner;
    const struct replay_job *job;
    size_t slot; /* its number among those that run at the same time */
    bool started;
    int output; /* a file in memory, its stdout; -1: none */
    int exit_status, signal_number;
    struct replay_part part;
};

struct runner {
    const struct replay_children *children;
    uv_loop_t loop;
    struct child *processes; /* in the order of the jobs */
    struct child **order;    /* in that in which they start */
    bool *taken;             /* reserved CPUs: children->at_once of them */
    size_t next, running;
    int directory; /* that we work in */
    int failed;
    struct error *error;
};

/* ---- processes ---- */

static void start_more(struct runner *runner);

static void child_closed(uv_handle_t *handle)
{
    struct child *child = (struct child *)handle;

    child_process_free(&child->process);
    child->runner->running--;
    child->runner->taken[child->slot] = false;
    start_more(child->runner);
}

static int replay_exit_status(struct replay_result *const *results, size_t count)
{
    bool replayed = false;

    for (size_t i = 0; i < count; i++) {
        if (results[i]->status == REPLAY_DIFFERS)
            return ERROR_DELIVERY;
        replayed = replayed || results[i]->counts.deliveries > 0;
    }
    /* Nothing was compared: that must not look like a check that was passed. */
    return replayed ? 0 : ERROR_INPUT;
}

static void child_ended(struct child_process *process, int exit_status, int signal_number)
{
    struct child *child = (struct child *)process;

    child->exit_status = exit_status;
    child->signal_number = signal_number;
    uv_close((uv_handle_t *)&process->end, child_closed);
}

/* replay, the job's options, --json, then what the user gave. */
static void make_arguments(const struct replay_children *children, const struct child *child,
                           struct command_line *line)
{
    const struct replay_job *job = child->job;

    command_line_add(line, "gaspipe");
    command_line_add(line, "replay");
    command_line_add(line, "--json");
    command_line_add(line, "--slot=%zu", child->slot);
    for (int i = 0; i < REPLAY_JOB_OPTIONS && job->options[i] != NULL; i++)
        command_line_add(line, "%s", job->options[i]);
    for (int i = 1; i < children->argc; i++)
        command_line_add(line, "%s", children->argv[i]);
}

static int replay_children_start(struct runner *runner, struct child *child, struct error *error)
{
    struct command_line line = {0};
    int fds[CHILD_FDS] = {-1, -1, STDERR_FILENO, runner->directory};
    struct child_launch launch = {
        .path = "/proc/self/exe",
        .environment = environ,
        .fds = fds,
        .fd_count = CHILD_FDS,
    };
    int result;

    make_arguments(runner->children, child, &line);
    launch.arguments = line.words;
    child->output = fds[STDOUT_FILENO] = memfd_create("gaspipe-replay", MFD_CLOEXEC);
    if (child->output < 0)
        result = error_system(error, errno, "cannot make a file for a part of the replay");
    else if (command_line_check(&line, error) != 0)
        result = -1;
    else
        result = child_process_start(&child->process, &runner->loop, &launch, child_ended, error);
    command_line_free(&line);
    child->started = result == 0;
    return result;
}

static size_t take_free_slot(struct runner *runner)
{
    size_t slot = 0;

    while (runner->taken[slot])
        slot++;
    runner->taken[slot] = true;
    return slot;
}

/* As many as may run at once; when one cannot be started, the others are not waited for. */
static void start_more(struct runner *runner)
{
    const struct replay_children *children = runner->children;

    while (runner->failed == 0 && runner->next < children->job_count &&
           runner->running < children->at_once) {
        struct child *child = runner->order[runner->next];

        child->slot = take_free_slot(runner);
        runner->failed = replay_children_start(runner, child, runner->error);
        if (runner->failed == 0) {
            runner->next++;
            runner->running++;
        }
    }
    for (size_t i = 0; runner->failed != 0 && i < runner->next; i++)
        if (uv_is_active((uv_handle_t *)&runner->order[i]->process.end))
            (void)kill(runner->order[i]->process.pid, SIGTERM); /* it may just have ended */
}

static int compare_weights(const void *left, const void *right)
{
    const struct child *const *a = left, *const *b = right;

    if ((*a)->job->weight != (*b)->job->weight)
        return (*a)->job->weight > (*b)->job->weight ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

/* ---- what they printed ---- */

static int read_job_output(struct child *child, struct error *error)
{
    struct buf output = {0};
    char path[32];
    int status;

    snprintf(path, sizeof path, "/proc/self/fd/%d", child->output);
    status = io_read_file(path, SIZE_MAX, &output, error);
    if (status == 0)
        status = replay_part_read(&child->part, output.data, output.length,
                                  child->runner->children->json, error);
    buf_free(&output);
    return status;
}

/* Checks that it ran to its end; its output is complete then. */
static int check_end(const struct child *child, struct error *error)
{
    if (child->started && child->signal_number == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM, "a part of the replay was ended by signal %d",
                     child->signal_number);
}

/* The first result of each job, then the second of each. */
static int order_results(struct runner *runner, struct replay_parts *parts, struct error *error)
{
    bool more = true;

    for (size_t rank = 0; more; rank++) {
        more = false;
        for (size_t i = 0; i < runner->children->job_count; i++) {
            struct child *child = &runner->processes[i];
            struct replay_result **results;

            if (rank >= child->part.count)
                continue;
            results =
                array_reserve(parts->results, &parts->capacity, parts->count + 1, sizeof *results);
            if (results == NULL)
                return error_memory(error, "the results");
            parts->results = results;
            results[parts->count++] = child->part.results[rank];
            child->part.results[rank] = NULL;
            more = true;
        }
    }
    return 0;
}

static int print_part_notes(struct runner *runner, struct error *error)
{
    for (size_t i = 0; i < runner->children->job_count; i++) {
        const struct buf *notes = &runner->processes[i].part.notes;

        if (buf_failed(notes))
            return error_memory(error, "the output");
        if (notes->length > 0 && io_write_all(STDOUT_FILENO, notes->data, notes->length) != 0)
            return io_fail_stdout("cannot write the results to stdout", error);
    }
    return 0;
}

static int gather_output(struct runner *runner, struct replay_parts *parts, struct error *error)
{
    const struct replay_part *first = NULL; /* of those that failed, the one furthest up */

    for (size_t i = 0; i < runner->children->job_count; i++) {
        struct child *child = &runner->processes[i];

        if (check_end(child, error) != 0 || read_job_output(child, error) != 0)
            return -1;
        if (child->part.failed_line > 0 &&
            (first == NULL || child->part.failed_line < first->failed_line))
            first = &child->part;
    }
    if (first == NULL)
        return print_part_notes(runner, error) == 0 ? order_results(runner, parts, error) : -1;
    *error = first->failure;
    return -1;
}

/* ---- all of them ---- */

static void free_child(struct child *child)
{
    replay_part_free(&child->part);
    if (child->output >= 0)
        close(child->output);
}

static int make_processes(struct runner *runner, struct error *error)
{
    const struct replay_children *children = runner->children;

    runner->processes = calloc(children->job_count, sizeof *runner->processes);
    runner->order = calloc(children->job_count, sizeof(struct child *));
    runner->taken = calloc(children->at_once, sizeof *runner->taken);
    if (runner->processes == NULL || runner->order == NULL || runner->taken == NULL)
        return error_memory(error, "the parts of the replay");
    for (size_t i = 0; i < children->job_count; i++) {
        runner->processes[i] =
            (struct child){.runner = runner, .job = &children->jobs[i], .output = -1};
        runner->order[i] = &runner->processes[i];
    }
    qsort(runner->order, children->job_count, sizeof(struct child *), compare_weights);
    return 0;
}

static int run_all_jobs(struct runner *runner, struct replay_parts *parts, struct error *error)
{
    int status = uv_loop_init(&runner->loop);

    if (status != 0)
        return error_set(error, ERROR_SYSTEM, "cannot start the event loop: %s",
                         uv_strerror(status));
    runner->error = error;
    start_more(runner);
    (void)uv_run(&runner->loop, UV_RUN_DEFAULT); /* until the last one is gone */
    (void)uv_loop_close(&runner->loop);          /* all handles are closed */
    return runner->failed != 0 ? -1 : gather_output(runner, parts, error);
}

/*
 * -1 with the error of the job that failed first in the source, or of the system;
 * replay_parts_free() in either case.
 */
static int replay_children_run(struct replay_parts *parts, const struct replay_children *children,
                               struct error *error)
{
    const int directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct runner runner = {.children = children, .directory = directory};
    int result;

    *parts = (struct replay_parts){0};
    if (directory < 0)
        return error_system(error, errno, "cannot open the working directory");
    result = make_processes(&runner, error);
    if (result == 0)
        result = run_all_jobs(&runner, parts, error);
    for (size_t i = 0; runner.order != NULL && i < children->job_count; i++)
        free_child(&runner.processes[i]);
    free(runner.processes);
    free(runner.order);
    free(runner.taken);
    close(runner.directory);
    return result;
}

static void replay_parts_free(struct replay_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        replay_result_free(parts->results[i]);
        free(parts->results[i]);
    }
    free(parts->results);
    *parts = (struct replay_parts){0};
}

/* ---- in a child ---- */

/* In the process of a part: changes to the command's directory, and ends with the parent. -1 with
 * ERROR_SYSTEM. */
static int replay_children_join(struct error *error)
{
    /* If the parent is killed, its result is of no use. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (fchdir(DIRECTORY_FD) != 0)
        return error_system(error, errno, "cannot change to the parent's directory");
    close(DIRECTORY_FD);
    return 0;
}

/* Prints the error of a part, for its parent; `line` of the source is how far it had come. */
static void replay_children_print_error(const struct error *problem, uint64_t line)
{
    struct buf out = {0};

    buf_printf(&out, "{\"kind\":\"error\",\"status\":%d,\"line\":%" PRIu64 ",\"text\":",
               (int)problem->kind, line);
    json_text_string(&out, problem->text, strlen(problem->text));
    buf_append_string(&out, "}\n");
    if (!buf_failed(&out))
        (void)io_write_all(STDOUT_FILENO, out.data, out.length); /* its status says it, too */
    buf_free(&out);
}

/* ---- the command ---- */

static int replay_print(const struct replay_options *options, struct replay_result *const *results,
                        size_t count, struct error *error)
{
    int result = options->is_part ? replay_output_part(results, count, error)
                                  : replay_output(results, count, options->json, error);

    return result == 0 ? replay_exit_status(results, count) : -1;
}

/* ---- in this process ---- */

static int replay_here(const struct replay_options *options, struct error *error)
{
    struct replay_run *run = replay_run_new(options, error);
    struct replay_result *const *results;
    size_t count;
    int status = -1;

    if (run == NULL)
        return -1;
    if (replay_run(run, error) == 0) {
        results = replay_run_results(run, &count);
        status = replay_print(options, results, count, error);
    }
    if (status < 0 && options->is_part) {
        replay_children_print_error(error, replay_run_line(run));
        status = (int)error->kind;
    }
    replay_run_free(run);
    return status;
}

/* ---- in several ---- */

enum { NAME_SIZE = 80 };

/* The jobs' options, in memory of their own. */
struct jobs {
    struct replay_job *jobs;
    char (*names)[NAME_SIZE];
    size_t count;
};

static int make_space(struct jobs *jobs, size_t count, struct error *error)
{
    jobs->count = count;
    jobs->jobs = calloc(count, sizeof *jobs->jobs);
    jobs->names = calloc(count, sizeof *jobs->names);
    if (jobs->jobs == NULL || jobs->names == NULL)
        return error_memory(error, "the parts of the replay");
    for (size_t i = 0; i < count; i++)
        jobs->jobs[i].options[0] = jobs->names[i];
    return 0;
}

/* Each reads all of the source, and has some of its vats. */
static int share_vats(struct jobs *jobs, size_t count, struct error *error)
{
    if (make_space(jobs, count, error) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        snprintf(jobs->names[i], NAME_SIZE, "--part=%zu/%zu", i, count);
    return 0;
}

/* Each has a span to itself. */
static int share_spans(struct jobs *jobs, const struct replay_options *options, struct error *error)
{
    struct replay_source *source = replay_source_open(options, error);
    const struct swing_spans *spans;
    int result;

    if (source == NULL)
        return -1;
    spans = swing_source_spans(source);
    result = make_space(jobs, spans->count, error);
    for (size_t i = 0; result == 0 && i < spans->count; i++) {
        const struct swing_span *span = &spans->spans[i];

        snprintf(jobs->names[i], NAME_SIZE, "--only=%.40s:%" PRId64, span->vat_id, span->start);
        jobs->jobs[i].options[1] = "--part=0/1";
        jobs->jobs[i].weight = span->items;
    }
    if (result == 0 && spans->count == 0)
        result = error_set(error, ERROR_INPUT, "%s: no such span", source->name);
    source->operations->close(source);
    return result;
}

/* So with the files of an archive, which are spans. */
static int share_files(struct jobs *jobs, const struct archive_files *files, struct error *error)
{
    if (make_space(jobs, files->count, error) != 0)
        return -1;
    for (size_t i = 0; i < files->count; i++) {
        snprintf(jobs->names[i], NAME_SIZE, "--only=%.40s:%" PRId64, files->files[i].vat_id,
                 files->files[i].first);
        jobs->jobs[i].options[1] = "--part=0/1";
        jobs->jobs[i].weight = files->files[i].size;
    }
    return 0;
}

static int share(struct jobs *jobs, const struct replay_options *options, struct error *error)
{
    if (replay_source_is_swing_store(options))
        return share_spans(jobs, options, error);
    if (options->archived.count > 0)
        return share_files(jobs, &options->archived, error);
    return share_vats(jobs, options->jobs, error);
}

static int replay_in_parts(const struct replay_options *options, int argc, char **argv,
                           struct error *error)
{
    struct replay_parts parts = {0};
    struct jobs jobs = {0};
    int status = share(&jobs, options, error);

    if (status == 0) {
        const struct replay_children children = {
            .jobs = jobs.jobs,
            .job_count = jobs.count,
            .at_once = options->jobs,
            .argc = argc,
            .argv = argv,
            .json = options->json,
        };

        status = replay_children_run(&parts, &children, error);
    }
    if (status == 0)
        status = replay_print(options, parts.results, parts.count, error);
    replay_parts_free(&parts);
    free(jobs.jobs);
    free(jobs.names);
    return status;
}

/* ---- the command ---- */

static int do_as_asked(const struct replay_options *options, int argc, char **argv,
                       struct error *error)
{
    if (options->export != NULL)
        return store_source_export(options->store, options->stored_vat, options->export, error);
    if (options->list)
        return replay_list(options, error);
    if (options->is_part)
        return replay_children_join(error) == 0 ? replay_here(options, error) : -1;
    /* A store has one vat to replay. */
    if (options->jobs > 1 && options->store == NULL)
        return replay_in_parts(options, argc, argv, error);
    return replay_here(options, error);
}

int replay_command(int argc, char **argv)
{
    struct replay_options options;
    struct error error;
    enum option_result parsed = replay_options_parse(&options, argc, argv, &error);
    int status;

    if (parsed != OPTION_TAKEN) {
        status = option_end(&replay_options_table, parsed, &error);
    } else {
        status = do_as_asked(&options, argc, argv, &error);
        if (status < 0) {
            log_line("%s", error.text);
            status = (int)error.kind;
        }
    }
    replay_options_free(&options);
    return status;
}
