/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "supervisor/count/compare/compare.h"
#include "supervisor/count/compiled/count_compiled.h"
#include "supervisor/count/count_options.h"
#include "supervisor/count/count_outputs.h"
#include "supervisor/count/count_print.h"
#include "supervisor/count/count_run.h"
#include "supervisor/count/count_text.h"
#include "supervisor/profile/counter_profile.h"

/* All that a whole command holds. */
struct count {
    struct count_options options;
    struct guest_tools tools;
    struct gas_model gas;
    struct fingerprint fingerprint;
    int profile_fd; /* what the counter says of places, in memory; -1 when not asked for */
    struct count_run *runs;
    size_t run_count;
    struct baseline baseline; /* of --against */
    bool exceeds;             /* the count does, by more than is allowed */
};

/* The exit status for a count that exceeds its baseline. */
enum { OVER_BASELINE = 6 };

static void show_progress(const struct count *count)
{
    if (count->options.repeat > 1 && isatty(STDERR_FILENO))
        fprintf(stderr, "run %zu of %" PRIu64 "\n", count->run_count + 1, count->options.repeat);
}

static int run_all(struct count *count, struct error *error)
{
    const struct count_program program = {
        .arguments = count->options.arguments,
        .environment = count->options.environment,
        .directory = count->options.directory,
        .plugin_options =
            count->options.plugin.length > 0 ? buf_string(&count->options.plugin) : "",
        .profile_fd = count->profile_fd,
    };

    count->runs = calloc(count->options.repeat, sizeof *count->runs);
    if (count->runs == NULL || program.plugin_options == NULL)
        return error_memory(error, "the runs");
    for (; count->run_count < count->options.repeat; count->run_count++) {
        show_progress(count);
        if (count_run(&count->runs[count->run_count], &count->tools, &program, error) != 0)
            return -1;
    }
    return fingerprint_take(&count->fingerprint, &count->tools, program.plugin_options,
                            count->runs[0].report, error);
}

static int print(struct count *count, struct error *error)
{
    const struct count_findings findings = {
        .arguments = count->options.arguments,
        .runs = count->runs,
        .run_count = count->run_count,
        .kinds = count->options.kinds,
        .gas = count->options.gas != NULL ? &count->gas : NULL,
        .fingerprint = &count->fingerprint,
    };
    struct buf out = {0};
    int result;

    (count->options.json ? count_print_json : count_print_table)(&out, &findings);
    if (count->options.against != NULL)
        baseline_compare(&count->baseline, &count->runs[0].total, count->fingerprint.hash,
                         count->options.allow, count->options.json, &out, &count->exceeds);
    result = buf_failed(&out) ? error_memory(error, "the result")
                              : count_outputs_write(&count->options, &out, error);
    buf_free(&out);
    if (result != 0)
        return -1;
    if (!count_findings_agree(&findings))
        return error_set(error, ERROR_DELIVERY, "the counts of %zu runs differ", count->run_count);
    return 0;
}

static int write_profiles(const struct count *count, struct error *error)
{
    struct profile profile;
    char path[64];
    int result;

    if (count->profile_fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", count->profile_fd);
    result = counter_profile_read(&profile, path, error);
    if (result == 0)
        result = count_outputs_write_profile(&count->options, &profile, error);
    profile_close(&profile);
    return result;
}

static int open_profile(struct count *count, struct error *error)
{
    count->profile_fd = memfd_create("gaspipe-profile", MFD_CLOEXEC);
    if (count->profile_fd < 0)
        return error_system(error, errno, "cannot make the memory for the profile");
    return 0;
}

/* The first run that did not succeed is a failure of the whole. */
static int check_ends(const struct count *count, struct error *error)
{
    struct buf words = {0};

    for (size_t i = 0; i < count->run_count; i++) {
        const struct count_run *run = &count->runs[i];

        if (WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0 && !run->total.over_limit)
            continue;
        count_text_end(&words, run->status, run->total.over_limit ? "instruction" : NULL);
        error_set(error, ERROR_DELIVERY, "%s: %s", count->options.arguments[0],
                  buf_string(&words) != NULL ? buf_string(&words) : "failed");
        buf_free(&words);
        return -1;
    }
    return 0;
}

static int carry_out(struct count *count, struct error *error)
{
    const struct count_options *options = &count->options;

    if (count_outputs_check(options, error) != 0 ||
        (options->against != NULL && baseline_read(&count->baseline, options->against, error) != 0))
        return -1;
    if (count->options.gas != NULL && gas_model_read(&count->gas, count->options.gas, error) != 0)
        return -1;
    if (count->options.counter == COUNT_COMPILED)
        return count_compiled(&count->options, count->options.gas != NULL ? &count->gas : NULL,
                              error);
    if (guest_find_tools(&count->tools, error) != 0 || guest_pin_layout(&count->tools, error) != 0)
        return -1;
    if (options->versus.count > 0 || options->timed > 0)
        return compare_commands(options, &count->tools, error);
    if (count_outputs_want_profile(&count->options) && open_profile(count, error) != 0)
        return -1;
    if (run_all(count, error) != 0)
        return -1;
    if (write_profiles(count, error) != 0)
        return -1;
    if (print(count, error) != 0 || check_ends(count, error) != 0)
        return -1;
    if (options->save == NULL || count->exceeds)
        return 0;
    return baseline_save(options->save, options->arguments, &count->runs[0].total,
                         count->fingerprint.hash, error);
}

static void count_free(struct count *count)
{
    for (size_t i = 0; i < count->run_count; i++)
        count_run_free(&count->runs[i]);
    free(count->runs);
    if (count->profile_fd >= 0)
        close(count->profile_fd);
    fingerprint_free(&count->fingerprint);
    count_options_free(&count->options);
}

int count_command(int argc, char **argv)
{
    struct count count = {.profile_fd = -1};
    struct error error = {0};
    enum option_result parsed = count_options_parse(&count.options, argc, argv, &error);
    int status = 0;

    if (parsed != OPTION_TAKEN) {
        status = option_end(&count_options_table, parsed, &error);
    } else if (carry_out(&count, &error) != 0) {
        log_line("%s", error.text);
        status = (int)error.kind;
    } else if (count.exceeds) {
        log_line("more instructions than %s allows", count.options.against);
        status = OVER_BASELINE;
    }
    count_free(&count);
    return status;
}
