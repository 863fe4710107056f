/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compare/compare_command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/stamp.h"
#include "supervisor/process/child_process.h"

/* ---- the command ---- */

static int split(struct compare_command *command, const char *text, struct error *error)
{
    wordexp_t words = {0};
    int result = wordexp(text, &words, WRDE_NOCMD | WRDE_SHOWERR);

    if (result == WRDE_NOSPACE) {
        wordfree(&words);
        return error_memory(error, "a command");
    }
    if (result != 0)
        return error_set(error, ERROR_USAGE,
                         "--versus '%s': give a program and its arguments, without a shell's "
                         "operators; for those, 'sh -c \"...\"'",
                         text);
    command->words = words;
    command->arguments = (const char *const *)words.we_wordv;
    return words.we_wordc > 0 ? 0 : error_set(error, ERROR_USAGE, "--versus needs a command");
}

int compare_command_open(struct compare_command *command, const char *text,
                         const char *const *arguments, struct error *error)
{
    *command = (struct compare_command){.arguments = arguments, .agrees = true};
    if (text != NULL && split(command, text, error) != 0)
        return -1;
    for (const char *const *word = command->arguments; *word != NULL; word++)
        buf_printf(&command->text, "%s%s", word == command->arguments ? "" : " ", *word);
    return buf_string(&command->text) != NULL ? 0 : error_memory(error, "a command");
}

void compare_command_free(struct compare_command *command)
{
    if (command->words.we_wordv != NULL)
        wordfree(&command->words);
    buf_free(&command->text);
    free(command->wall.values);
    free(command->processor.values);
    *command = (struct compare_command){0};
}

/* ---- counting ---- */

static bool has_failed(int status)
{
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int compare_command_count(struct compare_command *command, const struct count_options *options,
                          const struct guest_tools *tools, struct error *error)
{
    const struct count_program program = {
        .arguments = command->arguments,
        .environment = options->environment,
        .directory = options->directory,
        .plugin_options = options->plugin.length > 0 ? options->plugin.data : "",
        .profile_fd = -1,
    };
    struct count_run first = {0};
    int result = count_run(&first, tools, &program, error);

    command->total = first.total;
    command->failed = result == 0 && (has_failed(first.status) || first.total.over_limit);
    for (uint64_t i = 1; i < options->repeat && result == 0; i++) {
        struct count_run run = {0};

        result = count_run(&run, tools, &program, error);
        if (result != 0)
            break;
        command->agrees &= count_run_agrees(&first, &run);
        command->failed |= has_failed(run.status);
        count_run_free(&run);
    }
    count_run_free(&first);
    return result;
}

/* ---- timing ---- */

static int add_time(struct compare_times *times, double seconds, struct error *error)
{
    double *values = reallocarray(times->values, times->count + 1, sizeof *values);

    if (values == NULL)
        return error_memory(error, "the times");
    times->values = values;
    values[times->count++] = seconds;
    return 0;
}

/* Of the children that were waited for. */
static double processor_seconds(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return 0; /* cannot fail for RUSAGE_CHILDREN */
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int compare_command_time(struct compare_command *command, const struct count_options *options,
                         struct error *error)
{
    static const int fds[] = {0, 1, 2};
    char path[PATH_MAX];
    const struct child_launch launch = {
        .path = path,
        .arguments = (char *const *)(uintptr_t)command->arguments,
        .environment = (char *const *)(uintptr_t)options->environment,
        .fds = fds,
        .fd_count = 3,
        .folder = options->directory,
        .in_our_group = true,
    };
    double processor = processor_seconds();
    int64_t began;
    int status;
    pid_t child;

    if (guest_find_program(command->arguments[0], path, error) != 0)
        return -1;
    began = stamp_now().mono;
    if (child_process_spawn(&launch, &child, error) != 0 ||
        count_run_wait(child, &status, error) != 0)
        return -1;
    command->failed |= has_failed(status);
    if (add_time(&command->wall, (double)(stamp_now().mono - began) / 1e9, error) != 0)
        return -1;
    return add_time(&command->processor, processor_seconds() - processor, error);
}

struct compare_summary compare_summarise(const struct compare_times *times)
{
    struct compare_summary summary = {.least = times->values[0], .most = times->values[0]};
    double squares = 0;

    for (size_t i = 0; i < times->count; i++) {
        summary.mean += times->values[i] / (double)times->count;
        summary.least = fmin(summary.least, times->values[i]);
        summary.most = fmax(summary.most, times->values[i]);
    }
    for (size_t i = 0; i < times->count; i++)
        squares += (times->values[i] - summary.mean) * (times->values[i] - summary.mean);
    if (times->count > 1)
        summary.deviation = sqrt(squares / (double)(times->count - 1));
    return summary;
}
