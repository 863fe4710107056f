/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compare/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/output/output_file.h"
#include "base/stamp.h"
#include "supervisor/count/count_outputs.h"
#include "supervisor/count/count_text.h"
#include "supervisor/process/child_process.h"

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

static double ratio_to_first(uint64_t number, uint64_t least)
{
    return least > 0 ? (double)number / (double)least : 0;
}

static const struct compare_command *least_of(const struct compare_command *commands, size_t count)
{
    const struct compare_command *least = commands;

    for (size_t i = 1; i < count; i++)
        if (commands[i].total.instructions < least->total.instructions)
            least = &commands[i];
    return least;
}

/* ---- for people ---- */

static void put_compared_times(struct buf *out, const char *name, const struct compare_times *times)
{
    const struct compare_summary summary = compare_summarise(times);

    buf_printf(out, "    %-10s %10.3f ms ± %.3f, from %.3f to %.3f\n", name, summary.mean * 1e3,
               summary.deviation * 1e3, summary.least * 1e3, summary.most * 1e3);
}

static void put_command(struct buf *out, const struct compare_command *command)
{
    buf_printf(out, "\n%s%s%s\n", command->text.data, command->failed ? "  FAILED" : "",
               command->agrees ? "" : "  NOT the same in all runs");
    count_text_grouped(out, 18, command->total.instructions);
    buf_append_string(out, " instructions, ");
    count_text_grouped(out, 0, command->total.syscalls);
    buf_append_string(out, " system calls, ");
    count_text_grouped(out, 0, command->total.bytes_read);
    buf_append_string(out, " bytes read, ");
    count_text_grouped(out, 0, command->total.bytes_written);
    buf_append_string(out, " written\n");
    if (command->wall.count == 0)
        return;
    put_compared_times(out, "wall", &command->wall);
    put_compared_times(out, "processor", &command->processor);
}

static void put_ratio(struct buf *out, const struct compare_command *command,
                      const struct compare_command *least)
{
    buf_printf(out, "%10.4f x the instructions",
               ratio_to_first(command->total.instructions, least->total.instructions));
    if (command->wall.count > 0) {
        const double mean = compare_summarise(&least->processor).mean;

        buf_printf(out, ", %.2f x the wall time",
                   compare_summarise(&command->wall).mean / compare_summarise(&least->wall).mean);
        if (mean > 0)
            buf_printf(out, ", %.2f x the CPU time",
                       compare_summarise(&command->processor).mean / mean);
    }
    buf_printf(out, "  %s\n", command->text.data);
}

static void compare_print_text(struct buf *out, const struct compare_command *commands,
                               size_t count)
{
    const struct compare_command *least = least_of(commands, count);

    for (size_t i = 0; i < count; i++)
        put_command(out, &commands[i]);
    if (count == 1)
        return;
    buf_printf(out, "\nfewest instructions: %s\n", least->text.data);
    for (size_t i = 0; i < count; i++)
        if (&commands[i] != least)
            put_ratio(out, &commands[i], least);
}

/* ---- for programs ---- */

static void put_json_times(struct buf *out, const char *name, const struct compare_times *times)
{
    struct compare_summary summary;

    if (times->count == 0) {
        buf_printf(out, ",\"%s\":null", name);
        return;
    }
    summary = compare_summarise(times);
    buf_printf(out, ",\"%s\":{\"mean\":%.9f,\"stddev\":%.9f,\"min\":%.9f,\"max\":%.9f,\"times\":[",
               name, summary.mean, summary.deviation, summary.least, summary.most);
    for (size_t i = 0; i < times->count; i++)
        buf_printf(out, "%s%.9f", i == 0 ? "" : ",", times->values[i]);
    buf_append_string(out, "]}");
}

/* The results of at least one command, all timed equally often. Ratios are to the command with the
 * fewest instructions. Failure stays in the buffer. */
static void compare_print_json(struct buf *out, const struct compare_command *commands,
                               size_t count)
{
    const struct compare_command *least = least_of(commands, count);

    for (size_t i = 0; i < count; i++) {
        const struct count_total *total = &commands[i].total;

        buf_append_string(out, "{\"kind\":\"command\",\"command\":");
        json_text_string(out, commands[i].text.data, commands[i].text.length);
        buf_printf(out,
                   ",\"instructions\":%" PRIu64 ",\"syscalls\":%" PRIu64 ",\"bytesRead\":%" PRIu64
                   ",\"bytesWritten\":%" PRIu64 ",\"ratio\":%.6f,\"agree\":%s,\"failed\":%s",
                   total->instructions, total->syscalls, total->bytes_read, total->bytes_written,
                   ratio_to_first(total->instructions, least->total.instructions),
                   commands[i].agrees ? "true" : "false", commands[i].failed ? "true" : "false");
        put_json_times(out, "wall", &commands[i].wall);
        put_json_times(out, "processor", &commands[i].processor);
        buf_append_string(out, "}\n");
    }
}

/* In a cell of Markdown. */
static void put_code(struct buf *out, const char *text)
{
    buf_append_byte(out, '`');
    for (; *text != '\0'; text++) {
        if (*text == '|')
            buf_append_byte(out, '\\');
        buf_append_byte(out, *text == '`' || *text == '\n' ? ' ' : *text);
    }
    buf_append_byte(out, '`');
}

static void put_markdown_times(struct buf *out, const struct compare_times *times)
{
    struct compare_summary summary;

    if (times->count == 0) {
        buf_append_string(out, " |");
        return;
    }
    summary = compare_summarise(times);
    buf_printf(out, " %.3f ± %.3f |", summary.mean * 1e3, summary.deviation * 1e3);
}

static void compare_print_markdown(struct buf *out, const struct compare_command *commands,
                                   size_t count)
{
    const struct compare_command *least = least_of(commands, count);

    buf_append_string(out, "| command | instructions | ratio | wall ms | CPU ms |\n"
                           "|:---|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < count; i++) {
        buf_append_string(out, "| ");
        put_code(out, commands[i].text.data);
        buf_append_string(out, " | ");
        count_text_grouped(out, 0, commands[i].total.instructions);
        buf_printf(out, " | %.4f |",
                   ratio_to_first(commands[i].total.instructions, least->total.instructions));
        put_markdown_times(out, &commands[i].wall);
        put_markdown_times(out, &commands[i].processor);
        buf_append_byte(out, '\n');
    }
}

static void put_csv_text(struct buf *out, const char *text)
{
    buf_append_byte(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            buf_append_byte(out, '"');
        buf_append_byte(out, *text);
    }
    buf_append_byte(out, '"');
}

static void put_csv_times(struct buf *out, const struct compare_times *times)
{
    struct compare_summary summary;

    if (times->count == 0) {
        buf_append_string(out, ",,,,");
        return;
    }
    summary = compare_summarise(times);
    buf_printf(out, ",%.9f,%.9f,%.9f,%.9f", summary.mean, summary.deviation, summary.least,
               summary.most);
}

/* A table of Markdown; CSV with seconds, a row for each command. */
static void compare_print_csv(struct buf *out, const struct compare_command *commands, size_t count)
{
    const struct compare_command *least = least_of(commands, count);

    buf_append_string(out, "command,instructions,ratio,syscalls,bytesRead,bytesWritten,"
                           "wallMean,wallStddev,wallMin,wallMax,"
                           "processorMean,processorStddev,processorMin,processorMax\r\n");
    for (size_t i = 0; i < count; i++) {
        const struct count_total *total = &commands[i].total;

        put_csv_text(out, commands[i].text.data);
        buf_printf(out, ",%" PRIu64 ",%.6f,%" PRIu64 ",%" PRIu64 ",%" PRIu64, total->instructions,
                   ratio_to_first(total->instructions, least->total.instructions), total->syscalls,
                   total->bytes_read, total->bytes_written);
        put_csv_times(out, &commands[i].wall);
        put_csv_times(out, &commands[i].processor);
        buf_append_string(out, "\r\n");
    }
}

enum { VERSION = 1, FILE_SIZE_MAX = 1 << 20 };

static const char *output_kind(void)
{
    struct stat status;

    if (fstat(STDOUT_FILENO, &status) != 0)
        return "closed";
    if (isatty(STDOUT_FILENO))
        return "terminal";
    return S_ISCHR(status.st_mode) ? "device" : "file or pipe";
}

bool baseline_has_other_output(const struct baseline *baseline)
{
    return baseline->output[0] != '\0' && strcmp(baseline->output, output_kind()) != 0;
}

int baseline_save(const char *path, const char *const *arguments, const struct count_total *total,
                  const char *fingerprint, struct error *error)
{
    struct buf out = {0}, command = {0};
    int result;

    for (const char *const *word = arguments; *word != NULL; word++)
        buf_printf(&command, "%s%s", word == arguments ? "" : " ", *word);
    buf_printf(&out, "{\"kind\":\"count-baseline\",\"version\":%d,\"command\":", VERSION);
    json_text_string(&out, command.data, command.length);
    buf_printf(&out,
               ",\"instructions\":%" PRIu64 ",\"syscalls\":%" PRIu64 ",\"bytesRead\":%" PRIu64
               ",\"bytesWritten\":%" PRIu64 ",\"fingerprint\":\"%s\",\"stdout\":\"%s\"}\n",
               total->instructions, total->syscalls, total->bytes_read, total->bytes_written,
               fingerprint, output_kind());
    result = buf_failed(&out) || buf_failed(&command)
                 ? error_memory(error, "the baseline")
                 : output_file_write_whole(path, "the baseline", &out, error);
    buf_free(&command);
    buf_free(&out);
    return result;
}

static int baseline_take(struct baseline *baseline, const json_t *object, const char *path,
                         struct error *error)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const char *fingerprint = json_string_value(json_object_get(object, "fingerprint"));
    const char *output = json_string_value(json_object_get(object, "stdout"));
    const json_t *instructions = json_object_get(object, "instructions");

    if (kind == NULL || strcmp(kind, "count-baseline") != 0)
        return error_set(error, ERROR_INPUT, "%s: not a file of gaspipe count --save", path);
    if (json_integer_value(json_object_get(object, "version")) != VERSION)
        return error_set(error, ERROR_INPUT, "%s: this gaspipe reads baselines of version %d", path,
                         VERSION);
    if (!json_is_integer(instructions) || json_integer_value(instructions) < 0)
        return error_set(error, ERROR_INPUT, "%s: \"instructions\" must be a number", path);
    baseline->instructions = (uint64_t)json_integer_value(instructions);
    snprintf(baseline->output, sizeof baseline->output, "%s", output != NULL ? output : "");
    snprintf(baseline->fingerprint, sizeof baseline->fingerprint, "%s",
             fingerprint != NULL ? fingerprint : "");
    return 0;
}

int baseline_read(struct baseline *baseline, const char *path, struct error *error)
{
    struct buf text = {0};
    json_error_t problem;
    json_t *object = NULL;
    int result = io_read_file(path, FILE_SIZE_MAX, &text, error);

    if (result == 0) {
        object = json_value_read(text.data, text.length, 0, &problem);
        result = object != NULL
                     ? baseline_take(baseline, object, path, error)
                     : error_set(error, ERROR_INPUT, "%s:%d: %s", path, problem.line, problem.text);
    }
    json_decref(object);
    buf_free(&text);
    return result;
}

void baseline_compare(const struct baseline *baseline, const struct count_total *total,
                      const char *fingerprint, double allow, bool json, struct buf *out,
                      bool *exceeds)
{
    const double before = (double)baseline->instructions;
    const double change = (double)total->instructions - before;
    const double percent = before > 0 ? 100 * change / before : change > 0 ? 100 : 0;
    const bool same_files = strcmp(baseline->fingerprint, fingerprint) == 0;

    *exceeds = change > before * allow / 100;
    if (json) {
        buf_printf(out,
                   "{\"kind\":\"baseline\",\"instructions\":%" PRIu64
                   ",\"percent\":%.6f,\"allowed\":%g,\"exceeds\":%s,\"sameFingerprint\":%s"
                   ",\"sameStdout\":%s}\n",
                   baseline->instructions, percent, allow, *exceeds ? "true" : "false",
                   same_files ? "true" : "false",
                   baseline_has_other_output(baseline) ? "false" : "true");
        return;
    }
    buf_printf(out, "baseline %" PRIu64 " instructions, now %+.4f %% (allowed: %g %%)%s\n",
               baseline->instructions, percent, allow, *exceeds ? ": TOO MANY" : "");
    if (!same_files)
        buf_append_string(out, "the program, its libraries or the counter are not those of the "
                               "baseline\n");
    if (baseline_has_other_output(baseline))
        buf_printf(out,
                   "stdout was a %s at --save and is a %s now: programs may write in another way\n",
                   baseline->output, output_kind());
}

/* ---- the command ---- */

static int split_command(struct compare_command *command, const char *text, struct error *error)
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

static int compare_command_open(struct compare_command *command, const char *text,
                                const char *const *arguments, struct error *error)
{
    *command = (struct compare_command){.arguments = arguments, .agrees = true};
    if (text != NULL && split_command(command, text, error) != 0)
        return -1;
    for (const char *const *word = command->arguments; word != NULL && *word != NULL; word++)
        buf_printf(&command->text, "%s%s", word == command->arguments ? "" : " ", *word);
    return buf_string(&command->text) != NULL ? 0 : error_memory(error, "a command");
}

/* Splits `text` into arguments as a shell does; NULL: takes `arguments`. -1 with ERROR_USAGE if it
 * has shell operators or no word. To be freed in any case. */
static void compare_command_free(struct compare_command *command)
{
    if (command->words.we_wordv != NULL)
        wordfree(&command->words);
    buf_free(&command->text);
    free(command->wall.values);
    free(command->processor.values);
    *command = (struct compare_command){0};
}

/* ---- counting ---- */

static bool command_has_failed(int status)
{
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* Counts all of options->repeat runs. */
static int compare_command_count(struct compare_command *command,
                                 const struct count_options *options,
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
    command->failed = result == 0 && (command_has_failed(first.status) || first.total.over_limit);
    for (uint64_t i = 1; i < options->repeat && result == 0; i++) {
        struct count_run run = {0};

        result = count_run(&run, tools, &program, error);
        if (result != 0)
            break;
        command->agrees &= count_run_agrees(&first, &run);
        command->failed |= command_has_failed(run.status);
        count_run_free(&run);
    }
    count_run_free(&first);
    return result;
}

/* ---- timing ---- */

static int add_compared_time(struct compare_times *times, double seconds, struct error *error)
{
    double *values = reallocarray(times->values, times->count + 1, sizeof *values);

    if (values == NULL)
        return error_memory(error, "the times");
    times->values = values;
    values[times->count++] = seconds;
    return 0;
}

/* CPU time of all children that were waited for. */
static double processor_seconds(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return 0; /* cannot fail for RUSAGE_CHILDREN */
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* One native run, in the same environment and directory. */
static int compare_command_time(struct compare_command *command,
                                const struct count_options *options, struct error *error)
{
    static const int fds[] = {0, 1, 2};
    char path[PATH_MAX];
    const struct child_launch launch = {
        .path = path,
        .arguments = (char *const *)(uintptr_t)command->arguments,
        .environment = (char *const *)(uintptr_t)options->environment,
        .fds = fds,
        .fd_count = 3,
        .directory = options->directory,
        .in_same_group = true,
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
    command->failed |= command_has_failed(status);
    if (add_compared_time(&command->wall, (double)(stamp_now().mono - began) / 1e9, error) != 0)
        return -1;
    return add_compared_time(&command->processor, processor_seconds() - processor, error);
}

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

/* All commands get the same, empty, input; their output is dropped. */
static int redirect_output(struct error *error)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int result = fd >= 0 && dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0 ? 0 : -1;

    if (result != 0)
        error_system(error, errno, "cannot redirect to /dev/null");
    if (fd >= 0)
        close(fd);
    return result;
}

static void show_comparison_progress(const struct comparison *comparison, const char *what,
                                     uint64_t turn)
{
    if (isatty(STDERR_FILENO))
        log_line("%s: %llu of %llu", what, (unsigned long long)turn + 1,
                 (unsigned long long)comparison->options->timed);
}

/* In turns, so that whatever else the machine does is shared. */
static int run_all_commands(const struct comparison *comparison, struct error *error)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (compare_command_count(&comparison->commands[i], comparison->options, comparison->tools,
                                  error) != 0)
            return -1;
    for (uint64_t turn = 0; turn < comparison->options->timed; turn++) {
        show_comparison_progress(comparison, "timing", turn);
        for (size_t i = 0; i < comparison->count; i++)
            if (compare_command_time(&comparison->commands[i], comparison->options, error) != 0)
                return -1;
    }
    return 0;
}

typedef void print_function(struct buf *, const struct compare_command *, size_t);

/* path: NULL: not wanted. */
static int write_comparison_to(const struct comparison *comparison, print_function *print,
                               const char *path, struct error *error)
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

static int report_comparison(const struct comparison *comparison, struct error *error)
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
        result = write_comparison_to(comparison, compare_print_markdown, options->markdown, error);
    if (result == 0)
        result = write_comparison_to(comparison, compare_print_csv, options->csv, error);
    return result;
}

static int check_compared_counts(const struct comparison *comparison, struct error *error)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compare_command *command = &comparison->commands[i];

        if (command->failed)
            return error_set(error, ERROR_DELIVERY, "%s: failed", command->text.data);
        if (!command->agrees)
            return error_set(error, ERROR_DELIVERY, "%s: the counts of its runs differ",
                             command->text.data);
    }
    return 0;
}

int compare_commands(const struct count_options *options, const struct guest_tools *tools,
                     struct error *error)
{
    struct comparison comparison = {.options = options, .tools = tools};
    int result = redirect_output(error);

    if (result == 0)
        result = open_commands(&comparison, error);
    if (result == 0)
        result = run_all_commands(&comparison, error);
    if (result == 0)
        result = report_comparison(&comparison, error);
    if (result == 0)
        result = check_compared_counts(&comparison, error);
    for (size_t i = 0; i < comparison.count; i++)
        compare_command_free(&comparison.commands[i]);
    free(comparison.commands);
    return result;
}
