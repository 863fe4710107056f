/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compiled/cost_run.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/lines.h"
#include "supervisor/count/count_run.h"
#include "supervisor/process/child_process.h"

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

/* What a process blanked that did not become another program after all. */
static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ')
            return false;
    return true;
}

static int take_lines(struct cost_run *run, const char *path, struct error *error)
{
    struct buf text = {0};
    int result = io_read_file(path, LINES_BYTES_MAX, &text, error);
    size_t place = 0, length;
    const char *line;

    while (result == 0 && lines_next(&text, &place, &line, &length))
        result = is_blank(line, length) ? 0 : cost_run_take_line(run, line, length, error);
    buf_free(&text);
    return result;
}

/* ---- the process ---- */

enum { ADDED = 3, PLACE_SIZE = 64 };

/* What is put into the program's environment. */
struct surroundings {
    const char **variables; /* ends with NULL; owned */
    char out[PLACE_SIZE], profile[PLACE_SIZE], budget[PLACE_SIZE];
};

static int make_surroundings(struct surroundings *made, const struct cost_program *program,
                             int out_fd, struct error *error)
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

static int run_program(struct cost_run *run, const struct cost_program *program, int out_fd,
                       struct error *error)
{
    static const int fds[] = {0, 1, 2};
    struct surroundings around;
    char path[PATH_MAX];
    pid_t child;
    int result;

    if (guest_find_program(program->arguments[0], path, error) != 0)
        return -1;
    if (access(path, X_OK) != 0)
        return error_set(error, ERROR_INPUT, "cannot execute %s: %m", path);
    if (make_surroundings(&around, program, out_fd, error) != 0)
        return -1;
    const struct child_launch launch = {
        .path = path,
        .arguments = (char *const *)(uintptr_t)program->arguments,
        .environment = (char *const *)(uintptr_t)around.variables,
        .fds = fds,
        .fd_count = 3,
        .folder = program->directory,
        .in_our_group = true,
    };
    result = child_process_spawn(&launch, &child, error);
    free(around.variables);
    return result == 0 ? count_run_wait(child, &run->status, error) : -1;
}

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
    else if (run_program(run, program, out_fd, error) == 0)
        result = take_lines(run, place, error);
    if (out_fd >= 0)
        close(out_fd);
    if (result == 0 && json_array_size(run->processes) == 0)
        result = error_set(error, ERROR_INPUT,
                           "%s told no count: it was not compiled by gaspipe-cc, or it was killed "
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
bool cost_run_agrees(const struct cost_run *run, const struct cost_run *other)
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

void cost_run_free(struct cost_run *run)
{
    json_decref(run->processes);
    *run = (struct cost_run){0};
}
