/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "supervisor/fleet/submit/submission.h"

/* Its name for the worker says how it is compressed; slogreport looks at what is in it. */
static int submit_slog(struct submission *submission, const char *path, size_t place,
                       struct error *error)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    struct fleet_run_job entry = {
        .name = (char *)(uintptr_t)name, .first = (int64_t)place, .end = (int64_t)place + 1};
    json_t *files = json_array();
    int result = files != NULL ? 0 : error_memory(error, "a job");

    if (result == 0)
        result = submission_put_file(submission, files, path, "slog", &entry.amount, error);
    if (result == 0)
        result = submission_put(submission, json_pack("{s:s,s:O}", "name", name, "files", files),
                                &entry, error);
    json_decref(files);
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
