/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "supervisor/fleet/submit/submission.h"

/* What people are told that it is called: a file's name may be any bytes, JSON takes UTF-8. NULL
 * when memory ran out. */
static char *name_slog(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash != NULL ? slash + 1 : path);

    if (name != NULL)
        visible_bytes(name, strlen(name));
    return name;
}

static int submit_slog(struct submission *submission, const char *path, size_t place,
                       struct error *error)
{
    struct fleet_run_job entry = {
        .name = name_slog(path), .first = (int64_t)place, .end = (int64_t)place + 1};
    json_t *files = json_array();
    int result = files != NULL && entry.name != NULL ? 0 : error_memory(error, "a job");

    if (result == 0 && submission->options->shared != NULL)
        result = submission_name_file(submission, files, path, "slog", &entry.amount, error);
    else if (result == 0)
        result = submission_put_file(submission, files, path, "slog", &entry.amount, error);
    if (result == 0)
        result = submission_put(
            submission, json_pack("{s:s,s:O}", "name", entry.name, "files", files), &entry, error);
    json_decref(files);
    free(entry.name);
    return result;
}

int submit_slogs(struct submission *submission, struct error *error)
{
    const struct fleet_options *options = submission->options;

    if (options->by != NULL && submission->kind == &job_kind_summary)
        submission_add_argument(submission, "--by=%s", options->by);
    for (size_t i = 0; i < options->replay.source_count; i++)
        if (submit_slog(submission, options->replay.sources[i], i, error) != 0)
            return -1;
    return 0;
}
