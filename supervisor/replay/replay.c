/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "supervisor/replay/recording_file.h"
#include "supervisor/replay/replay_children.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_output.h"
#include "supervisor/replay/replay_recording.h"
#include "supervisor/replay/replay_run.h"
#include "supervisor/replay/source/store_source.h"

static int exit_status(struct replay_result *const *results, size_t count)
{
    bool replayed = false;

    for (size_t i = 0; i < count; i++) {
        if (results[i]->status == REPLAY_DIFFERS)
            return ERROR_DELIVERY;
        replayed = replayed || results[i]->counts.deliveries > 0;
    }
    /* Nothing was compared: that must not look like a check that was passed. */
    return replayed ? 0 : ERROR_INPUT;
}

static int print(const struct replay_options *options, struct replay_result *const *results,
                 size_t count, struct error *error)
{
    int result = options->is_part ? replay_output_part(results, count, error)
                                  : replay_output(results, count, options->json, error);

    return result == 0 ? exit_status(results, count) : -1;
}

/* ---- in this process ---- */

static int replay_here(const struct replay_options *options, struct error *error)
{
    struct replay_run *run = replay_run_new(options, error);
    struct replay_result *const *results;
    size_t count;
    int status = -1;

    if (run == NULL)
        return -1;
    if (replay_run(run, error) == 0) {
        results = replay_run_results(run, &count);
        status = print(options, results, count, error);
    }
    if (status < 0 && options->is_part) {
        replay_children_print_error(error, replay_run_line(run));
        status = (int)error->kind;
    }
    replay_run_free(run);
    return status;
}

/* ---- in several ---- */

enum { PART_SIZE = 64 };

static int replay_in_parts(const struct replay_options *options, int argc, char **argv,
                           struct error *error)
{
    struct replay_job *jobs = calloc(options->jobs, sizeof *jobs);
    char(*names)[PART_SIZE] = calloc(options->jobs, sizeof *names);
    const struct replay_children children = {
        .jobs = jobs,
        .job_count = options->jobs,
        .at_once = options->jobs,
        .argc = argc,
        .argv = argv,
    };
    struct replay_parts parts = {0};
    int status = -1;

    if (jobs == NULL || names == NULL) {
        error_memory(error, "the parts of the replay");
    } else {
        for (size_t i = 0; i < options->jobs; i++) {
            snprintf(names[i], sizeof names[i], "--part=%zu/%zu", i, (size_t)options->jobs);
            jobs[i].options[0] = names[i];
        }
        if (replay_children_run(&parts, &children, error) == 0)
            status = print(options, parts.results, parts.count, error);
    }
    replay_parts_free(&parts);
    free(names);
    free(jobs);
    return status;
}

/* ---- the command ---- */

static int do_as_asked(const struct replay_options *options, int argc, char **argv,
                       struct error *error)
{
    if (options->export != NULL)
        return store_source_export(options->store, options->stored_vat, options->export, error);
    if (options->is_part)
        return replay_children_join(error) == 0 ? replay_here(options, error) : -1;
    if (options->store == NULL && options->source_count == 1 &&
        recording_file_is_one(options->sources[0]))
        return replay_recording(options, error);
    /* Of a store it is one vat. */
    if (options->jobs > 1 && options->store == NULL)
        return replay_in_parts(options, argc, argv, error);
    return replay_here(options, error);
}

int replay_command(int argc, char **argv)
{
    struct replay_options options;
    struct error error;
    int status = replay_options_parse(&options, argc, argv, &error);

    if (status != 0) {
        log_line("replay: %s (see gaspipe replay --help)", error.text);
        status = (int)error.kind;
    } else if (options.help) {
        fputs(replay_options_help, stdout);
    } else {
        status = do_as_asked(&options, argc, argv, &error);
        if (status < 0) {
            log_line("%s", error.text);
            status = (int)error.kind;
        }
    }
    replay_options_free(&options);
    return status;
}
