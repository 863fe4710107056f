/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/count_outputs.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/output/output_file.h"
#include "base/profile/profile_write.h"
#include "base/visible.h"
#include "supervisor/process/guest.h"

enum { OUTPUTS = 7 };

/* An argument may be a file, seen from the directory that the program runs in. */
static int check_argument(const struct output_wanted *output, const char *directory,
                          const char *argument, struct error *error)
{
    char path[PATH_MAX];

    if (directory == NULL || argument[0] == '/')
        return output_file_check(output->path, output->what, argument, error);
    if (snprintf(path, sizeof path, "%s/%s", directory, argument) >= (int)sizeof path)
        return 0;
    return output_file_check(output->path, output->what, path, error);
}

static int check_count_inputs(const struct output_wanted *output,
                              const struct count_options *options, const char *program,
                              struct error *error)
{
    if (output_file_check(output->path, output->what, program, error) != 0 ||
        output_file_check(output->path, output->what, "/dev/stdin", error) != 0)
        return -1;
    if (options->gas != NULL &&
        output_file_check(output->path, output->what, options->gas, error) != 0)
        return -1;
    for (const char *const *argument = options->arguments + 1; *argument != NULL; argument++) {
        if (check_argument(output, options->directory, *argument, error) != 0)
            return -1;
    }
    return 0;
}

int count_outputs_check(const struct count_options *options, struct error *error)
{
    const struct output_wanted outputs[OUTPUTS] = {
        {options->output, "--output"},
        {options->profile, "--profile"},
        {options->profile_json, "--profile-json"},
        {options->profile_callgrind, "--profile-callgrind"},
        {options->markdown, "--export-markdown"},
        {options->csv, "--export-csv"},
        {options->save, "--save"},
    };
    char program[PATH_MAX];

    if (guest_find_program(options->arguments[0], program, error) != 0)
        return -1;
    for (size_t i = 0; i < OUTPUTS; i++)
        if (outputs[i].path != NULL &&
            check_count_inputs(&outputs[i], options, program, error) != 0)
            return -1;
    return output_file_check_all_apart(outputs, OUTPUTS, error);
}

static int write_count_to(const char *path, struct buf *out, struct error *error)
{
    if (path != NULL)
        return output_file_write_whole(path, "the counts", out, error);
    return visible_write(STDERR_FILENO, out->data, out->length) == 0
               ? 0
               : error_system(error, errno, "cannot write on stderr");
}

static int put_folded(struct buf *out, const struct profile *profile, struct error *error)
{
    return profile_put_folded(out, profile, NULL, PROFILE_FRAME_MODULE, error);
}

static int put_callgrind(struct buf *out, const struct profile *profile, struct error *error)
{
    return profile_put_callgrind(out, profile, NULL, error);
}

int count_outputs_write(const struct count_options *options, struct buf *result,
                        struct error *error)
{
    return write_count_to(options->output, result, error);
}

int count_outputs_write_profile(const struct count_options *options, const struct profile *profile,
                                struct error *error)
{
    const struct {
        const char *path; /* NULL: not asked for */
        int (*put)(struct buf *out, const struct profile *profile, struct error *error);
    } outputs[] = {
        {options->profile, put_folded},
        {options->profile_json, profile_put_json},
        {options->profile_callgrind, put_callgrind},
    };
    int result = 0;

    for (size_t i = 0; result == 0 && i < sizeof outputs / sizeof *outputs; i++) {
        struct buf out = {0};

        if (outputs[i].path == NULL)
            continue;
        result = outputs[i].put(&out, profile, error);
        if (result == 0)
            result = write_count_to(outputs[i].path, &out, error);
        buf_free(&out);
    }
    return result;
}

bool count_outputs_want_profile(const struct count_options *options)
{
    return options->profile != NULL || options->profile_json != NULL ||
           options->profile_callgrind != NULL;
}
