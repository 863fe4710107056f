/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_outputs.h"

#include <errno.h>
#include <unistd.h>

#include "base/output/output_file.h"
#include "base/visible.h"
#include "supervisor/profile/profile_file.h"

static int write_one(const char *path, const char *what, const struct trace_profile *profile,
                     int (*put)(struct buf *out, const struct trace_profile *profile,
                                struct error *error),
                     struct error *error)
{
    struct buf text = {0};
    int result = 0;

    if (path == NULL)
        return 0;
    if (put(&text, profile, error) != 0 || output_file_write_whole(path, what, &text, error) != 0)
        result = -1;
    buf_free(&text);
    return result;
}

/* May be large, and is compressed where its name says so. */
static int write_profile(const char *path, const struct trace_profile *profile, struct error *error)
{
    struct profile_file file;
    struct error ignored;
    int result;

    if (path == NULL)
        return 0;
    result = profile_file_open(&file, path, PROFILE_JSON, error);
    if (result == 0)
        result = profile_put_lines(&file.gathered, profile, error);
    return profile_file_close(&file, result == 0 ? error : &ignored) == 0 ? result : -1;
}

int trace_outputs_write(const struct trace_options *options, const struct trace_profile *profile,
                        struct error *error)
{
    if (write_one(options->folded, "the folded stacks", profile, profile_put_folded, error) != 0)
        return -1;
    if (write_profile(options->profile, profile, error) != 0)
        return -1;
    return write_one(options->callgrind, "the profile for callgrind", profile,
                     profile_put_callgrind, error);
}

int trace_outputs_report(const struct trace_options *options, struct buf *report,
                         struct error *error)
{
    if (options->report != NULL)
        return output_file_write_whole(options->report, "the report", report, error);
    return visible_write(STDERR_FILENO, report->data, report->length) == 0
               ? 0
               : error_system(error, errno, "cannot write on stderr");
}
