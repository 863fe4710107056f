/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_outputs.h"

#include <errno.h>
#include <unistd.h>

#include "base/io.h"
#include "base/output_file.h"

static int write_file(const char *path, const char *what, struct buf *text, struct error *error)
{
    struct output_file file;
    int result;

    if (output_file_open(&file, path, what, error) != 0)
        return -1;
    result = output_file_write(&file, text, error);
    if (result == 0)
        result = output_file_finish(&file, error);
    output_file_discard(&file);
    return result;
}

static int write_one(const char *path, const char *what, const struct trace_profile *profile,
                     int (*put)(struct buf *out, const struct trace_profile *profile,
                                struct error *error),
                     struct error *error)
{
    struct buf text = {0};
    int result = 0;

    if (path == NULL)
        return 0;
    if (put(&text, profile, error) != 0 || write_file(path, what, &text, error) != 0)
        result = -1;
    buf_free(&text);
    return result;
}

int trace_outputs_write(const struct trace_options *options, const struct trace_profile *profile,
                        struct error *error)
{
    if (write_one(options->folded, "the folded stacks", profile, profile_put_folded, error) != 0)
        return -1;
    return write_one(options->callgrind, "the profile for callgrind", profile,
                     profile_put_callgrind, error);
}

int trace_outputs_report(const struct trace_options *options, struct buf *report,
                         struct error *error)
{
    if (options->report != NULL)
        return write_file(options->report, "the report", report, error);
    return io_write_all(STDERR_FILENO, report->data, report->length) == 0
               ? 0
               : error_system(error, errno, "cannot write on stderr");
}
