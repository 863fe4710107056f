/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compiled/count_compiled.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/lines.h"
#include "supervisor/count/count_outputs.h"
#include "supervisor/count/count_run.h"
#include "supervisor/count/count_text.h"
#include "supervisor/process/child_process.h"
#include "supervisor/profile/compiled_profile.h"

/* The lines of all processes; each is at most 256 KiB. */
#define LINES_BYTES_MAX ((size_t)1 << 28)

/* ---- what the processes said ---- */

static int cost_run_take_line(struct cost_run *run, const char *text, size_t length,
                              struct error *error)
{
    json_error_t fault;
    json_t *line = json_loadb(text, length, 0, &fault);
    const json_t *cost = json_object_get(line, "cost");
    const char *ended = json_string_value(json_object_get(line, "ended"));

    if (!json_is_integer(cost) || json_integer_value(cost) < 0 || ended == NULL) {
        json_decref(line);
        return error_set(error, ERROR_INPUT, "the program wrote a count that cannot be read");
    }
    if (__builtin_add_overflow(run->cost, (uint64_t)json_integer_value(cost), &run->cost))
        run->cost = UINT64_MAX;
    run->over_limit |= strcmp(ended, "budget") == 0;
    return json_array_append_new(run->processes, line) == 0 ? 0 : error_memory(error, "the counts");
}

/* A process blanks its line before execve(2), and does not restore it if that fails. */
static bool is_blank_process(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ')
            return false;
    return true;
}

static int take_compiled_lines(struct cost_run *run, const char *path, struct error *error)
{
    struct buf text = {0};
    int result = io_read_file(path, LINES_BYTES_MAX, &text, error);
    size_t place = 0, length;
    const char *line;

    while (result == 0 && lines_next(&text, &place, &line, &length))
        result = is_blank_process(line, length) ? 0 : cost_run_take_line(run, line, length, error);
    buf_free(&text);
    return result;
}

/* ---- the process ---- */

enum { ADDED = 3, PLACE_SIZE = 64 };

/* The program's environment with the meter's variables. */
struct meter_environment {
    const char **variables; /* ends with NULL; owned */
    char out[PLACE_SIZE], profile[PLACE_SIZE], budget[PLACE_SIZE];
};

static int make_meter_environment(struct meter_environment *made,
                                  const struct cost_program *program, int out_fd,
                                  struct error *error)
{
    size_t count = 0;

    while (program->environment[count] != NULL)
        count++;
    made->variables = calloc(count + ADDED + 1, sizeof *made->variables);
    if (made->variables == NULL)
        return error_memory(error, "the environment");
    memcpy(made->variables, program->environment, count * sizeof *made->variables);
    snprintf(made->out, sizeof made->out, "GASMETER_OUT=/proc/%d/fd/%d", (int)getpid(), out_fd);
    made->variables[count++] = made->out;
    snprintf(made->profile, sizeof made->profile, "GASMETER_PROFILE=/proc/%d/fd/%d", (int)getpid(),
             program->profile_fd);
    if (program->profile_fd >= 0)
        made->variables[count++] = made->profile;
    snprintf(made->budget, sizeof made->budget, "GASMETER_BUDGET=%" PRIu64, program->limit);
    if (program->limit > 0)
        made->variables[count++] = made->budget;
    return 0;
}

static int run_compiled_program(struct cost_run *run, const struct cost_program *program,
                                int out_fd, struct error *error)
{
    static const int fds[] = {0, 1, 2};
    struct meter_environment around;
    char path[PATH_MAX];
    pid_t child;
    int result;

    if (guest_find_program(program->arguments[0], path, error) != 0)
        return -1;
    if (access(path, X_OK) != 0)
        return error_set(error, ERROR_INPUT, "cannot execute %s: %m", path);
    if (make_meter_environment(&around, program, out_fd, error) != 0)
        return -1;
    const struct child_launch launch = {
        .path = path,
        .arguments = (char *const *)(uintptr_t)program->arguments,
        .environment = (char *const *)(uintptr_t)around.variables,
        .fds = fds,
        .fd_count = 3,
        .directory = program->directory,
        .in_same_group = true,
    };
    result = child_process_spawn(&launch, &child, error);
    free(around.variables);
    return result == 0 ? count_run_wait(child, &run->status, error) : -1;
}

static void cost_run_free(struct cost_run *run);

int cost_run(struct cost_run *run, const struct cost_program *program, struct error *error)
{
    int out_fd = memfd_create("gaspipe-cost", MFD_CLOEXEC);
    char place[PLACE_SIZE];
    int result = -1;

    *run = (struct cost_run){.processes = json_array()};
    snprintf(place, sizeof place, "/proc/self/fd/%d", out_fd);
    if (out_fd < 0)
        error_system(error, errno, "cannot make the memory for the counts");
    else if (run->processes == NULL)
        error_memory(error, "the counts");
    else if (run_compiled_program(run, program, out_fd, error) == 0)
        result = take_compiled_lines(run, place, error);
    if (out_fd >= 0)
        close(out_fd);
    if (result == 0 && json_array_size(run->processes) == 0)
        result =
            error_set(error, ERROR_INPUT,
                      "%s reported no count: it was not compiled by gaspipe-cc, or it was killed "
                      "or became another program",
                      program->arguments[0]);
    if (result != 0)
        cost_run_free(run);
    return result;
}

/* ---- comparing ---- */

static bool same_counts(const json_t *line, const json_t *other)
{
    return json_equal(json_object_get(line, "cost"), json_object_get(other, "cost")) &&
           json_equal(json_object_get(line, "regions"), json_object_get(other, "regions"));
}

/* Each line of one run stands for one line of the other. */
static bool cost_run_agrees(const struct cost_run *run, const struct cost_run *other)
{
    const size_t count = json_array_size(run->processes);
    json_t *left = json_copy(other->processes);
    bool agree = left != NULL && json_array_size(left) == count;

    for (size_t i = 0; agree && i < count; i++) {
        size_t at = 0;

        while (at < json_array_size(left) &&
               !same_counts(json_array_get(run->processes, i), json_array_get(left, at)))
            at++;
        agree = json_array_remove(left, at) == 0;
    }
    json_decref(left);
    return agree;
}

/* A run that is all zeros may be freed. */
static void cost_run_free(struct cost_run *run)
{
    json_decref(run->processes);
    *run = (struct cost_run){0};
}

/* Names in the table; JSON lists all. */
enum { NAMES_SHOWN = 12 };

/* Returns true if all runs have the same counts. */
static bool cost_findings_agree(const struct cost_findings *findings)
{
    for (size_t i = 1; i < findings->run_count; i++)
        if (!cost_run_agrees(&findings->runs[0], &findings->runs[i]))
            return false;
    return true;
}

static void find_compiled_extremes(const struct cost_findings *findings, uint64_t *least,
                                   uint64_t *most)
{
    *least = *most = findings->runs[0].cost;
    for (size_t i = 1; i < findings->run_count; i++) {
        if (findings->runs[i].cost < *least)
            *least = findings->runs[i].cost;
        if (findings->runs[i].cost > *most)
            *most = findings->runs[i].cost;
    }
}

/* ---- for people ---- */

static void put_compiled_regions(struct buf *out, const struct cost_run *run)
{
    const json_t *process, *region;
    size_t i, j, count = 0;

    json_array_foreach(run->processes, i, process)
    {
        json_array_foreach(json_object_get(process, "regions"), j, region)
        {
            if (count++ == 0)
                buf_printf(out, "\n%22s\n", "units of block cost");
            if (count <= COUNT_REGIONS_SHOWN)
                buf_printf(out, "%22" JSON_INTEGER_FORMAT "  region %zu\n",
                           json_integer_value(region), count);
        }
    }
    count_text_more_regions(out, count);
}

/* The names that processes list in that member, each once, up to NAMES_SHOWN. */
static void put_names(struct buf *out, const struct cost_run *run, const char *member,
                      const char *words)
{
    const char *separator = words;
    json_t *listed = json_object();
    const json_t *process, *name;
    size_t i, j, count = 0;

    json_array_foreach(run->processes, i, process)
    {
        json_array_foreach(json_object_get(process, member), j, name)
        {
            const char *text = json_string_value(name);

            if (text == NULL || json_object_get(listed, text) != NULL)
                continue;
            json_object_set_new(listed, text, json_true());
            if (count++ < NAMES_SHOWN)
                buf_printf(out, "%s%s", separator, text);
            separator = ", ";
        }
    }
    if (count > NAMES_SHOWN)
        buf_printf(out, " and %zu more, see --json", count - NAMES_SHOWN);
    buf_append_string(out, count > 0 ? "\n" : "");
    json_decref(listed);
}

static void put_compiled_agreement(struct buf *out, const struct cost_findings *findings)
{
    uint64_t least, most;

    if (findings->run_count == 1)
        return;
    find_compiled_extremes(findings, &least, &most);
    if (cost_findings_agree(findings))
        buf_printf(out, "\nthe same in all %zu runs\n", findings->run_count);
    else
        buf_printf(out, "\nNOT the same in all %zu runs: %" PRIu64 " to %" PRIu64 " units\n",
                   findings->run_count, least, most);
}

static const char *cost_table(const struct cost_run *run)
{
    const char *table =
        json_string_value(json_object_get(json_array_get(run->processes, 0), "costTable"));

    return table != NULL ? table : "unknown";
}

static void cost_print_table(struct buf *out, const struct cost_findings *findings)
{
    const struct cost_run *first = &findings->runs[0];

    count_text_heading(out, findings->arguments, first->status, first->over_limit ? "cost" : NULL);
    count_text_number(out, first->cost, "units of block cost");
    if (json_array_size(first->processes) > 1)
        count_text_number(out, json_array_size(first->processes), "processes");
    if (findings->gas != NULL)
        buf_printf(out, "%22.0f  gas\n", gas_model_price_cost(findings->gas, first->cost));
    put_compiled_regions(out, first);
    put_compiled_agreement(out, findings);
    buf_append_byte(out, '\n');
    put_names(out, first, "uncounted", "not counted: ");
    put_names(out, first, "unsure", "not sure: ");
    buf_printf(out, "cost table %s\n", cost_table(first));
}

/* ---- for programs ---- */

static void put_process(struct buf *out, const json_t *process)
{
    static const char *const members[] = {"pid",       "program", "ended",       "status",
                                          "signal",    "regions", "regionCount", "costTable",
                                          "uncounted", "unsure"};

    buf_printf(out, "{\"blockCost\":%" JSON_INTEGER_FORMAT,
               json_integer_value(json_object_get(process, "cost")));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const json_t *value = json_object_get(process, members[i]);
        char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

        if (text != NULL)
            buf_printf(out, ",\"%s\":%s", members[i], text);
        else if (value != NULL)
            out->failed = true;
        free(text);
    }
    buf_append_byte(out, '}');
}

static void put_compiled_run(struct buf *out, const struct cost_findings *findings, size_t index)
{
    const struct cost_run *run = &findings->runs[index];
    const json_t *process;
    size_t i;

    count_text_run(out, index, run->status);
    buf_printf(out, ",\"blockCost\":%" PRIu64, run->cost);
    if (findings->gas != NULL)
        buf_printf(out, ",\"gas\":%.0f", gas_model_price_cost(findings->gas, run->cost));
    buf_printf(out, ",\"overLimit\":%s,\"processes\":[", run->over_limit ? "true" : "false");
    json_array_foreach(run->processes, i, process)
    {
        if (i > 0)
            buf_append_byte(out, ',');
        put_process(out, process);
    }
    buf_append_string(out, "]}\n");
}

/* One object for each run, {"kind":"run",...}, then {"kind":"summary",...}. */
static void cost_print_json(struct buf *out, const struct cost_findings *findings)
{
    uint64_t least, most;

    for (size_t i = 0; i < findings->run_count; i++)
        put_compiled_run(out, findings, i);
    find_compiled_extremes(findings, &least, &most);
    count_text_summary(out, findings->arguments, findings->run_count,
                       cost_findings_agree(findings));
    buf_printf(out, ",\"least\":%" PRIu64 ",\"most\":%" PRIu64 ",\"costTable\":", least, most);
    count_text_string(out, cost_table(&findings->runs[0]));
    buf_append_string(out, "}\n");
}

/* All that the command holds. */
struct work {
    const struct count_options *options;
    const struct gas_model *gas;
    struct cost_run *runs;
    size_t run_count;
    int profile_fd; /* -1: no profile was asked for */
};

static int run_all_compiled(struct work *work, struct error *error)
{
    const struct count_options *options = work->options;
    const struct cost_program program = {
        .arguments = options->arguments,
        .environment = options->environment,
        .directory = options->directory,
        .limit = options->cost_limit,
        .profile_fd = work->profile_fd,
    };

    work->runs = calloc(options->repeat, sizeof *work->runs);
    if (work->runs == NULL)
        return error_memory(error, "the runs");
    for (; work->run_count < options->repeat; work->run_count++) {
        if (options->repeat > 1 && isatty(STDERR_FILENO))
            fprintf(stderr, "run %zu of %" PRIu64 "\n", work->run_count + 1, options->repeat);
        if (cost_run(&work->runs[work->run_count], &program, error) != 0)
            return -1;
    }
    return 0;
}

static int open_compiled_count_profile(struct work *work, struct error *error)
{
    if (!count_outputs_want_profile(work->options))
        return 0;
    work->profile_fd = memfd_create("gaspipe-profile", MFD_CLOEXEC);
    return work->profile_fd >= 0
               ? 0
               : error_system(error, errno, "cannot make the memory for the profile");
}

static int write_compiled_profile(const struct work *work, struct error *error)
{
    struct profile profile;
    char path[64];
    int result;

    if (work->profile_fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", work->profile_fd);
    result = compiled_profile_read(&profile, path, error);
    if (result == 0)
        result = count_outputs_write_profile(work->options, &profile, error);
    profile_close(&profile);
    return result;
}

static int count_compiled_print(const struct work *work, struct error *error)
{
    const struct cost_findings findings = {
        .arguments = work->options->arguments,
        .runs = work->runs,
        .run_count = work->run_count,
        .gas = work->gas,
    };
    struct buf out = {0};
    int result;

    (work->options->json ? cost_print_json : cost_print_table)(&out, &findings);
    result = buf_failed(&out) ? error_memory(error, "the result")
                              : count_outputs_write(work->options, &out, error);
    buf_free(&out);
    if (result == 0 && !cost_findings_agree(&findings))
        result = error_set(error, ERROR_DELIVERY, "the counts of %zu runs differ", work->run_count);
    return result;
}

/* The first run that did not succeed is a failure of the whole. */
static int check_compiled_ends(const struct work *work, struct error *error)
{
    struct buf words = {0};

    for (size_t i = 0; i < work->run_count; i++) {
        const struct cost_run *run = &work->runs[i];

        if (WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0 && !run->over_limit)
            continue;
        count_text_end(&words, run->status, run->over_limit ? "cost" : NULL);
        error_set(error, ERROR_DELIVERY, "%s: %s", work->options->arguments[0],
                  buf_string(&words) != NULL ? buf_string(&words) : "failed");
        buf_free(&words);
        return -1;
    }
    return 0;
}

int count_compiled(const struct count_options *options, const struct gas_model *gas,
                   struct error *error)
{
    struct work work = {.options = options, .gas = gas, .profile_fd = -1};
    int result = open_compiled_count_profile(&work, error);

    if (result == 0)
        result = run_all_compiled(&work, error);
    if (result == 0)
        result = write_compiled_profile(&work, error);
    if (result == 0)
        result = count_compiled_print(&work, error);
    if (result == 0)
        result = check_compiled_ends(&work, error);
    for (size_t i = 0; i < work.run_count; i++)
        cost_run_free(&work.runs[i]);
    free(work.runs);
    if (work.profile_fd >= 0)
        close(work.profile_fd);
    return result;
}
