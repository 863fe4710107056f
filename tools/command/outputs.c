/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/outputs.h"

#include <string.h>
#include <unistd.h>

#include "base/output_file.h"
#include "tools/otlp/otlp_batch.h"

struct output {
    const char *path; /* NULL: not asked for */
    const char *what; /* which option it is of */
};

enum { OUTPUTS = 4 };

/* A file that comes from standard input can be looked at under this name. */
static const char *input_path(const char *file)
{
    return strcmp(file, "-") == 0 ? "/dev/stdin" : file;
}

static int check_against_inputs(const struct output *output, char *const *files,
                                struct error *error)
{
    for (char *const *file = files; *file != NULL; file++) {
        if (output_file_check(output->path, output->what, input_path(*file), error) != 0)
            return -1;
    }
    return 0;
}

static int check_against_others(const struct output *output, const struct output *end,
                                struct error *error)
{
    for (const struct output *other = output + 1; other < end; other++) {
        if (other->path != NULL && output_file_check_apart(output->path, output->what, other->path,
                                                           other->what, error) != 0)
            return -1;
    }
    return 0;
}

static int check_standard_output(char *const *files, struct error *error)
{
    for (char *const *file = files; *file != NULL; file++) {
        if (output_file_check_descriptor(STDOUT_FILENO, "standard output", input_path(*file),
                                         error) != 0)
            return -1;
    }
    return 0;
}

int outputs_check(const struct options *options, struct error *error)
{
    const bool to_collector = options->otlp != NULL && otlp_batch_is_url(options->otlp);
    const struct output outputs[OUTPUTS] = {
        {options->trace, "--trace"},
        {options->html, "--html"},
        {to_collector ? NULL : options->otlp, "--otlp"},
        {options->histograms, "--histograms"},
    };

    for (size_t i = 0; i < OUTPUTS; i++) {
        if (outputs[i].path == NULL)
            continue;
        if (check_against_inputs(&outputs[i], options->files, error) != 0 ||
            check_against_others(&outputs[i], outputs + OUTPUTS, error) != 0)
            return -1;
    }
    return check_standard_output(options->files, error);
}
