/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "base/log.h"
#include "base/output/output_file.h"
#include "base/visible.h"
#include "supervisor/common_options.h"
#include "supervisor/estimate/cost.h"
#include "supervisor/estimate/estimate_options.h"
#include "supervisor/estimate/estimate_output.h"
#include "supervisor/estimate/plan.h"
#include "supervisor/estimate/suite.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/process/guest.h"
#include "supervisor/process/launcher.h"

/* ---- measuring ---- */

/* Without snapshots: a worker that starts from one has another heap, and other counts. */
static void add_run_words(struct command_line *words, const struct estimate_options *options,
                          const struct suite *suite)
{
    command_line_add(words, "gaspipe");
    command_line_add(words, "run");
    command_line_add(words, "--json");
    command_line_add(words, "--snapshot-interval=0");
    command_line_add(words, "--compute-limit=0");
    command_line_add(words, "--counter=%s", common_options_counter_name(options->counters));
    command_line_add(words, "--sandbox=%s", common_options_sandbox_levels[options->sandbox]);
    if (options->near_protocol > 0)
        command_line_add(words, "--near-protocol=%" PRIu64, options->near_protocol);
    for (size_t i = 0; i < suite->contract_count; i++)
        command_line_add(words, "--vat=%s=%s", suite->contracts[i].name, suite->contracts[i].path);
    command_line_add(words, "-");
}

/* A file in memory that holds the bytes, to be read from its beginning. -1 with the error. */
static int make_memory_file(const struct buf *content, struct error *error)
{
    const int fd = memfd_create("gaspipe-estimate", MFD_CLOEXEC);

    if (fd >= 0 && io_write_all(fd, content->data, content->length) == 0 &&
        lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    error_system(error, errno, "cannot make a file in memory");
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The descriptors of a run: files in memory, -1 while not open. */
struct measure_files {
    int fds[3]; /* its stdin, stdout and stderr */
};

static int open_files(struct measure_files *files, const struct buf *deliveries,
                      struct error *error)
{
    static const struct buf nothing;

    for (int i = 0; i < 3; i++) {
        files->fds[i] = make_memory_file(i == STDIN_FILENO ? deliveries : &nothing, error);
        if (files->fds[i] < 0)
            return -1;
    }
    return 0;
}

static void close_files(const struct measure_files *files)
{
    for (int i = 0; i < 3; i++)
        if (files->fds[i] >= 0)
            close(files->fds[i]);
}

static int read_output(int fd, struct buf *output, struct error *error)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return io_read_file(path, SIZE_MAX, output, error);
}

/* Shows the run's stderr only if the run failed; otherwise it is mostly contracts' logs. */
static void show_run_stderr(const struct measure_files *files)
{
    struct buf text = {0};
    struct error ignored;

    if (read_output(files->fds[STDERR_FILENO], &text, &ignored) == 0)
        (void)visible_write(STDERR_FILENO, text.data, text.length);
    buf_free(&text);
}

static int judge_status(const struct measure_files *files, int status, struct error *error)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) <= ERROR_DELIVERY)
        return 0;
    show_run_stderr(files);
    if (WIFSIGNALED(status))
        return error_set(error, ERROR_SYSTEM, "gaspipe run was ended by signal %d",
                         WTERMSIG(status));
    return error_set(error, WEXITSTATUS(status) == ERROR_INPUT ? ERROR_INPUT : ERROR_SYSTEM,
                     "gaspipe run ended with status %d", WEXITSTATUS(status));
}

static int run_child(char *const *arguments, const struct measure_files *files, struct error *error)
{
    const struct child_launch launch = {
        .path = "/proc/self/exe",
        .arguments = arguments,
        .environment = environ,
        .fds = files->fds,
        .fd_count = 3,
        .in_same_group = true,
    };
    int status;
    pid_t pid;

    if (child_process_spawn(&launch, &pid, error) != 0 ||
        child_process_reap(pid, &status, error) != 0)
        return -1;
    return judge_status(files, status, error);
}

/*
 * Runs the deliveries, lines for gaspipe run, in a process of that command, so that a suite's calls
 * are counted like any others. Appends its output (JSON lines) to *lines. 0, or -1 with the error,
 * after its stderr was shown. Failed deliveries are no error here: the lines report them.
 */
static int measure_deliveries(const struct estimate_options *options, const struct suite *suite,
                              const struct buf *deliveries, struct buf *lines, struct error *error)
{
    struct command_line words = {0};
    struct measure_files files = {{-1, -1, -1}};
    int result = -1;

    add_run_words(&words, options, suite);
    if (command_line_check(&words, error) == 0 && open_files(&files, deliveries, error) == 0 &&
        run_child(words.words, &files, error) == 0)
        result = read_output(files.fds[STDOUT_FILENO], lines, error);
    close_files(&files);
    command_line_free(&words);
    return result;
}

/* ---- what counts ---- */

static int hash_workers(const struct launch_config *launcher, char *hex, struct error *error)
{
    struct fingerprint one = {.count = 0}, other = {.count = 0};
    int result = fingerprint_take_launcher(&one, launcher, LAUNCHER_JAVASCRIPT, error);

    if (result == 0 && launcher->workers[LAUNCHER_WASM].path[0] != '\0')
        result = fingerprint_take_launcher(&other, launcher, LAUNCHER_WASM, error);
    if (result == 0) {
        const struct iovec parts[] = {{one.hash, strlen(one.hash)},
                                      {other.hash, strlen(other.hash)}};

        result = fingerprint_hash_parts(parts, sizeof parts / sizeof *parts, hex, error);
    }
    fingerprint_free(&one);
    fingerprint_free(&other);
    return result;
}

/* The SHA-256 of all files that count and compute; "" if not counted by QEMU. */
static int measure_fingerprint(const struct estimate_options *options, char *hex,
                               struct error *error)
{
    struct launch_config launcher;
    int result;

    hex[0] = '\0';
    if (!options->counters.qemu)
        return 0;
    if (launcher_open(&launcher, options->counters, 0, error) != 0)
        return -1;
    result = hash_workers(&launcher, hex, error);
    launcher_close(&launcher);
    return result;
}

/* ---- the command ---- */

/* The exit status for costs that moved. */
enum { MOVED = 6 };

/* NEAR's: a million gas are eight instructions (docs/gas-near.json). */
static const struct gas_model near_model = {.instruction = 125000};

/* All that a whole command holds. */
struct work {
    struct estimate_options options;
    struct suite suite;
    struct plan plan;
    struct cost_models models;
    struct gas_model charge;
    struct estimate estimate;
    json_t *before; /* the records of --compare */
    size_t moved;
};

static int read_inputs(struct work *work, struct error *error)
{
    const struct estimate_options *options = &work->options;

    if (suite_read(&work->suite, options->directory, error) != 0)
        return -1;
    if (options->only != NULL && suite_select(&work->suite, options->only) == 0)
        return error_set(error, ERROR_USAGE, "no operation of suite %s matches '%s'",
                         work->suite.name, options->only);
    work->models.gas = near_model;
    if (options->gas != NULL && gas_model_read(&work->models.gas, options->gas, error) != 0)
        return -1;
    if (options->charge != NULL && gas_model_read(&work->charge, options->charge, error) != 0)
        return -1;
    if (options->charge != NULL)
        work->models.charge = &work->charge;
    else if (work->suite.has_charge)
        work->models.charge = &work->suite.charge;
    if (options->compare == NULL)
        return 0;
    work->before = estimate_record_read(options->compare, work->suite.name, error);
    if (work->before == NULL)
        return -1;
    return json_array_size(work->before) > 0
               ? 0
               : error_set(error, ERROR_INPUT, "%s has no costs of suite %s", options->compare,
                           work->suite.name);
}

static int print_estimate(const struct buf *out, struct error *error)
{
    if (visible_write(STDOUT_FILENO, out->data, out->length) != 0)
        return io_fail_stdout("cannot write to stdout", error);
    return 0;
}

static int print_deliveries(const struct work *work, struct error *error)
{
    struct buf out = {0};
    int result;

    plan_write(&work->plan, &work->suite, &out);
    result = buf_failed(&out) ? error_memory(error, "the deliveries") : print_estimate(&out, error);
    buf_free(&out);
    return result;
}

static int make_calls(const struct work *work, struct buf *lines, struct error *error)
{
    struct buf deliveries = {0};
    int result;

    plan_write(&work->plan, &work->suite, &deliveries);
    result = buf_failed(&deliveries)
                 ? error_memory(error, "the deliveries")
                 : measure_deliveries(&work->options, &work->suite, &deliveries, lines, error);
    buf_free(&deliveries);
    return result;
}

/* Calls, or a file of what earlier ones took. */
static int count(struct work *work, struct error *error)
{
    const struct estimate_options *options = &work->options;
    struct buf lines = {0};
    int result;

    if (options->from != NULL)
        result = io_read_file(options->from, SIZE_MAX, &lines, error);
    else
        result = make_calls(work, &lines, error);
    if (result == 0)
        result = plan_take(&work->plan, &work->suite, &lines, error);
    if (result == 0 && options->from == NULL)
        result = measure_fingerprint(options, work->estimate.fingerprint, error);
    if (result == 0 && options->counts != NULL)
        result = output_file_write_whole(options->counts, "the counts", &lines, error);
    buf_free(&lines);
    return result;
}

static int report_estimate(struct work *work, struct error *error)
{
    const struct estimate_options *options = &work->options;
    struct buf out = {0};
    int result;

    (options->json ? estimate_print_json : estimate_print_table)(&out, &work->estimate);
    if (work->before != NULL)
        work->moved = estimate_compare(
            &work->estimate, json_array_get(work->before, json_array_size(work->before) - 1),
            options->only, options->allow, options->json, &out);
    result = buf_failed(&out) ? error_memory(error, "the costs") : print_estimate(&out, error);
    buf_free(&out);
    return result;
}

static int keep_estimate(const struct work *work, struct error *error)
{
    const struct estimate_options *options = &work->options;
    struct buf out = {0};
    int result = 0;

    if (options->save != NULL) {
        estimate_record_write(&out, &work->estimate);
        result = output_file_write_whole(options->save, "the costs", &out, error);
    }
    buf_free(&out);
    if (result == 0 && options->history != NULL)
        result = estimate_record_append(options->history, &work->estimate, error);
    if (result == 0 && options->html != NULL)
        result = estimate_page_write(options->html, options->history, &work->estimate, error);
    return result;
}

static int run_estimate(struct work *work, struct error *error)
{
    if (read_inputs(work, error) != 0 || plan_make(&work->plan, &work->suite, error) != 0)
        return -1;
    if (work->options.deliveries)
        return print_deliveries(work, error);
    if (count(work, error) != 0)
        return -1;
    work->estimate.suite = work->suite.name;
    work->estimate.label = work->options.label != NULL ? work->options.label : "";
    if (costs_estimate(&work->estimate.costs, &work->suite, &work->plan, &work->models, error) != 0)
        return -1;
    return report_estimate(work, error) != 0 ? -1 : keep_estimate(work, error);
}

static void work_free(struct work *work)
{
    json_decref(work->before);
    costs_free(&work->estimate.costs);
    plan_free(&work->plan);
    suite_free(&work->suite);
}

int estimate_command(int argc, char **argv)
{
    struct work work = {.moved = 0};
    struct error error = {0};
    enum option_result parsed = estimate_options_parse(&work.options, argc, argv, &error);
    int status = 0;

    if (parsed != OPTION_TAKEN) {
        status = option_end(&estimate_options_table, parsed, &error);
    } else if (run_estimate(&work, &error) != 0) {
        log_line("%s", error.text);
        status = (int)error.kind;
    } else if (work.moved > 0) {
        log_line("%zu %s since %s by more than %g %%", work.moved,
                 work.moved == 1 ? "cost moved" : "costs moved", work.options.compare,
                 work.options.allow);
        status = MOVED;
    }
    work_free(&work);
    return status;
}
