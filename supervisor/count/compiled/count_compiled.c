/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compiled/count_compiled.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/count/compiled/cost_print.h"
#include "supervisor/count/compiled/cost_run.h"
#include "supervisor/count/count_outputs.h"
#include "supervisor/count/count_text.h"
#include "supervisor/profile/compiled_profile.h"

/* All that the command holds. */
struct work {
    const struct count_options *options;
    const struct gas_model *gas;
    struct cost_run *runs;
    size_t run_count;
    int profile_fd; /* -1: no profile was asked for */
};

static int run_all(struct work *work, struct error *error)
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

static int open_profile(struct work *work, struct error *error)
{
    if (!count_outputs_want_profile(work->options))
        return 0;
    work->profile_fd = memfd_create("gaspipe-profile", MFD_CLOEXEC);
    return work->profile_fd >= 0
               ? 0
               : error_system(error, errno, "cannot make the memory for the profile");
}

static int write_profile(const struct work *work, struct error *error)
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
static int check_ends(const struct work *work, struct error *error)
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
    int result = open_profile(&work, error);

    if (result == 0)
        result = run_all(&work, error);
    if (result == 0)
        result = write_profile(&work, error);
    if (result == 0)
        result = count_compiled_print(&work, error);
    if (result == 0)
        result = check_ends(&work, error);
    for (size_t i = 0; i < work.run_count; i++)
        cost_run_free(&work.runs[i]);
    free(work.runs);
    if (work.profile_fd >= 0)
        close(work.profile_fd);
    return result;
}
