/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "supervisor/fleet/job/file_jobs.h"
#include "supervisor/fleet/job/job_check.h"
#include "supervisor/fleet/span/fleet_fingerprint.h"
#include "supervisor/fleet/span/fleet_object.h"
#include "supervisor/process/locate.h"

/* A slogfile that slogreport reads. `summary`: what comes of it are histograms, which `slogreport
 * merge` adds up. `rows`: tables, each of which becomes an object. */

static const char histograms_name[] = "histograms";
static const char *const tables[] = {"deliveries.csv.gz", "requests.csv.gz"};

static bool slog_kinds_is_job(const json_t *json)
{
    static const char *const allowed[] = {"--by=", "--strict"};

    return file_jobs_are(json) && json_array_size(json_object_get(json, "files")) == 1 &&
           job_check_arguments(json_object_get(json, "arguments"), allowed,
                               sizeof allowed / sizeof *allowed);
}

static int begin_command(const char *command, char program[PATH_MAX], struct command_line *line,
                         struct error *error)
{
    if (locate("slogreport", program, error) != 0)
        return -1;
    command_line_add(line, "slogreport");
    command_line_add(line, "%s", command);
    command_line_add(line, "--jobs=1");
    return 0;
}

static void end_command(const struct fleet_job *job, struct command_line *line)
{
    const json_t *files = json_object_get(job->json, "files");

    file_jobs_add_arguments(job, line);
    command_line_add(line, "%s",
                     json_string_value(json_object_get(json_array_get(files, 0), "name")));
}

/* ---- summary ---- */

static int summary_command(const struct job_place *place, const struct fleet_job *job,
                           char program[PATH_MAX], struct command_line *line, struct error *error)
{
    (void)place;
    if (begin_command("summary", program, line, error) != 0)
        return -1;
    command_line_add(line, "--histograms=%s", histograms_name);
    end_command(job, line);
    return 0;
}

/* The table that it printed is not needed. */
static int summary_judge(const struct job_place *place, const struct job_end *end,
                         struct error *error)
{
    char path[PATH_MAX];

    if (file_jobs_check_end(end, error) != 0)
        return -1;
    buf_clear(end->output);
    snprintf(path, sizeof path, "%s/%s", place->folder, histograms_name);
    return io_read_file(path, SIZE_MAX, end->output, error);
}

const struct job_kind job_kind_summary = {
    .name = "summary",
    .items = "slogfiles",
    .unit = "bytes",
    .member = "bytes",
    .takes_words = true,
    .is_job = slog_kinds_is_job,
    .fingerprint = fleet_fingerprint_slogreport,
    .describe = file_jobs_describe,
    .fetch = file_jobs_fetch,
    .command = summary_command,
    .judge = summary_judge,
};

/* ---- rows ---- */

static int rows_command(const struct job_place *place, const struct fleet_job *job,
                        char program[PATH_MAX], struct command_line *line, struct error *error)
{
    (void)place;
    if (begin_command("rows", program, line, error) != 0)
        return -1;
    command_line_add(line, "--out=.");
    end_command(job, line);
    return 0;
}

static int put_table(const struct job_place *place, const char *name, struct buf *out,
                     struct error *error)
{
    char path[PATH_MAX], object[FLEET_HASH_SIZE];
    int64_t size;

    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    if (fleet_object_put_file(place->transport, path, object, &size, error) != 0)
        return -1;
    buf_printf(out, "{\"kind\":\"table\",\"name\":\"%s\",\"object\":\"%s\"}\n", name, object);
    return 0;
}

static int rows_judge(const struct job_place *place, const struct job_end *end, struct error *error)
{
    if (file_jobs_check_end(end, error) != 0)
        return -1;
    buf_clear(end->output);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (put_table(place, tables[i], end->output, error) != 0)
            return -1;
    return 0;
}

const struct job_kind job_kind_rows = {
    .name = "rows",
    .items = "slogfiles",
    .unit = "bytes",
    .member = "bytes",
    .takes_words = true,
    .is_job = slog_kinds_is_job,
    .fingerprint = fleet_fingerprint_slogreport,
    .describe = file_jobs_describe,
    .fetch = file_jobs_fetch,
    .command = rows_command,
    .judge = rows_judge,
};
