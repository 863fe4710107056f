/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "supervisor/common_options.h"
#include "supervisor/fleet/job/file_jobs.h"
#include "supervisor/fleet/job/job_check.h"
#include "supervisor/fleet/span/fleet_fingerprint.h"

/* An operation of a suite, whose costs are estimated: the files are suite.json, with this operation
 * alone, and its contracts. */

static bool estimate_kind_is_job(const json_t *json)
{
    static const char *const allowed[] = {"--counter=", "--near-protocol="};

    return file_jobs_are(json) && job_check_arguments(json_object_get(json, "arguments"), allowed,
                                                      sizeof allowed / sizeof *allowed);
}

static int estimate_kind_command(const struct job_place *place, const struct fleet_job *job,
                                 char program[PATH_MAX], struct command_line *line,
                                 struct error *error)
{
    (void)error;
    snprintf(program, PATH_MAX, "/proc/self/exe");
    command_line_add(line, "gaspipe");
    command_line_add(line, "estimate");
    command_line_add(line, "--json");
    command_line_add(line, "--sandbox=%s", common_options_sandbox_levels[place->sandbox]);
    file_jobs_add_arguments(job, line);
    command_line_add(line, ".");
    return 0;
}

static int estimate_kind_judge(const struct job_place *place, const struct job_end *end,
                               struct error *error)
{
    (void)place;
    return file_jobs_check_end(end, error);
}

const struct job_kind job_kind_estimate = {
    .name = "estimate",
    .items = "operations",
    .unit = "calls",
    .member = "calls",
    .takes_words = true,
    .is_job = estimate_kind_is_job,
    .fingerprint = fleet_fingerprint_estimate,
    .describe = file_jobs_describe,
    .fetch = file_jobs_fetch,
    .command = estimate_kind_command,
    .judge = estimate_kind_judge,
};
