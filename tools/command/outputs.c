/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/outputs.h"

#include <string.h>
#include <unistd.h>

#include "base/output/output_file.h"
#include "tools/otlp/otlp_batch.h"

enum { OUTPUTS = 6 };

/* A file that comes from standard input can be looked at under this name. */
static const char *input_path(const char *file)
{
    return strcmp(file, "-") == 0 ? "/dev/stdin" : file;
}

static int check_against_inputs(const struct output_wanted *output, char *const *files,
                                struct error *error)
{
    for (char *const *file = files; *file != NULL; file++) {
        if (output_file_check(output->path, output->what, input_path(*file), error) != 0)
            return -1;
    }
    return 0;
}

static int check_outputs(const struct output_wanted outputs[OUTPUTS], char *const *files,
                         struct error *error)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        if (outputs[i].path != NULL && check_against_inputs(&outputs[i], files, error) != 0)
            return -1;
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
    const struct output_wanted outputs[OUTPUTS] = {
        {options->trace, "--trace"},
        {options->html, "--html"},
        {to_collector ? NULL : options->otlp, "--otlp"},
        {options->histograms, "--histograms"},
        {options->flame, "--flame"},
        {options->metrics, "--metrics"},
    };

    if (check_outputs(outputs, options->files, error) != 0)
        return -1;
    if (output_file_check_all_apart(outputs, OUTPUTS, error) != 0)
        return -1;
    if (options->against != NULL &&
        check_outputs(outputs, (char *const[]){(char *)options->against, NULL}, error) != 0)
        return -1;
    for (size_t i = 0; i < options->profiles.count; i++)
        if (check_outputs(outputs, (char *const[]){(char *)options->profiles.items[i], NULL},
                          error) != 0)
            return -1;
    return check_standard_output(options->files, error);
}
