/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compare/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output/output_file.h"
#include "supervisor/count/compare/compare_command.h"
#include "supervisor/count/compare/compare_print.h"
#include "supervisor/count/count_outputs.h"

struct comparison {
    const struct count_options *options;
    const struct guest_tools *tools;
    struct compare_command *commands;
    size_t count;
};

static int open_commands(struct comparison *comparison, struct error *error)
{
    const struct option_list *others = &comparison->options->versus;

    comparison->commands = calloc(others->count + 1, sizeof *comparison->commands);
    if (comparison->commands == NULL)
        return error_memory(error, "the commands");
    comparison->count = 1;
    if (compare_command_open(&comparison->commands[0], NULL, comparison->options->arguments,
                             error) != 0)
        return -1;
    for (size_t i = 0; i < others->count; i++) {
        comparison->count++;
        if (compare_command_open(&comparison->commands[i + 1], others->items[i], NULL, error) != 0)
            return -1;
    }
    return 0;
}

/* So that all of them find the same input, and nobody waits for their output. */
static int redirect(struct error *error)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int result = fd >= 0 && dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0 ? 0 : -1;

    if (result != 0)
        error_system(error, errno, "cannot redirect to /dev/null");
    if (fd >= 0)
        close(fd);
    return result;
}

static void show_progress(const struct comparison *comparison, const char *what, uint64_t turn)
{
    if (isatty(STDERR_FILENO))
        log_line("%s: %llu of %llu", what, (unsigned long long)turn + 1,
                 (unsigned long long)comparison->options->timed);
}

/* In turns, so that whatever else the machine does is shared. */
static int run_all(const struct comparison *comparison, struct error *error)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (compare_command_count(&comparison->commands[i], comparison->options, comparison->tools,
                                  error) != 0)
            return -1;
    for (uint64_t turn = 0; turn < comparison->options->timed; turn++) {
        show_progress(comparison, "timing", turn);
        for (size_t i = 0; i < comparison->count; i++)
            if (compare_command_time(&comparison->commands[i], comparison->options, error) != 0)
                return -1;
    }
    return 0;
}

typedef void print_function(struct buf *, const struct compare_command *, size_t);

/* path: NULL: not wanted. */
static int write_to(const struct comparison *comparison, print_function *print, const char *path,
                    struct error *error)
{
    struct buf out = {0};
    int result = 0;

    if (path != NULL) {
        print(&out, comparison->commands, comparison->count);
        result = buf_failed(&out) ? error_memory(error, "the comparison")
                                  : output_file_write_whole(path, "the comparison", &out, error);
    }
    buf_free(&out);
    return result;
}

static int report(const struct comparison *comparison, struct error *error)
{
    const struct count_options *options = comparison->options;
    struct buf out = {0};
    int result;

    (options->json ? compare_print_json : compare_print_text)(&out, comparison->commands,
                                                              comparison->count);
    result = buf_failed(&out) ? error_memory(error, "the comparison")
                              : count_outputs_write(options, &out, error);
    buf_free(&out);
    if (result == 0)
        result = write_to(comparison, compare_print_markdown, options->markdown, error);
    if (result == 0)
        result = write_to(comparison, compare_print_csv, options->csv, error);
    return result;
}

static int check(const struct comparison *comparison, struct error *error)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compare_command *command = &comparison->commands[i];

        if (command->failed)
            return error_set(error, ERROR_DELIVERY, "%s: failed", command->text.data);
        if (!command->agrees)
            return error_set(error, ERROR_DELIVERY, "%s: its counts differ", command->text.data);
    }
    return 0;
}

int compare_commands(const struct count_options *options, const struct guest_tools *tools,
                     struct error *error)
{
    struct comparison comparison = {.options = options, .tools = tools};
    int result = redirect(error);

    if (result == 0)
        result = open_commands(&comparison, error);
    if (result == 0)
        result = run_all(&comparison, error);
    if (result == 0)
        result = report(&comparison, error);
    if (result == 0)
        result = check(&comparison, error);
    for (size_t i = 0; i < comparison.count; i++)
        compare_command_free(&comparison.commands[i]);
    free(comparison.commands);
    return result;
}
