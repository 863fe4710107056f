/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "supervisor/replay/any_source.h"
#include "supervisor/replay/output/replay_list.h"
#include "supervisor/replay/output/replay_output.h"
#include "supervisor/replay/replay_children.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_run.h"
#include "supervisor/replay/source/store_source.h"
#include "supervisor/replay/source/swing_source.h"

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

static int replay_print(const struct replay_options *options, struct replay_result *const *results,
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
        status = replay_print(options, results, count, error);
    }
    if (status < 0 && options->is_part) {
        replay_children_print_error(error, replay_run_line(run));
        status = (int)error->kind;
    }
    replay_run_free(run);
    return status;
}

/* ---- in several ---- */

enum { NAME_SIZE = 80 };

/* The jobs' options, in memory of their own. */
struct jobs {
    struct replay_job *jobs;
    char (*names)[NAME_SIZE];
    size_t count;
};

static int make_room(struct jobs *jobs, size_t count, struct error *error)
{
    jobs->count = count;
    jobs->jobs = calloc(count, sizeof *jobs->jobs);
    jobs->names = calloc(count, sizeof *jobs->names);
    if (jobs->jobs == NULL || jobs->names == NULL)
        return error_memory(error, "the parts of the replay");
    for (size_t i = 0; i < count; i++)
        jobs->jobs[i].options[0] = jobs->names[i];
    return 0;
}

/* Each reads all of the source, and has some of its vats. */
static int share_vats(struct jobs *jobs, size_t count, struct error *error)
{
    if (make_room(jobs, count, error) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        snprintf(jobs->names[i], NAME_SIZE, "--part=%zu/%zu", i, count);
    return 0;
}

/* Each has a span to itself. */
static int share_spans(struct jobs *jobs, const struct replay_options *options, struct error *error)
{
    struct replay_source *source = any_source_open(options, error);
    const struct swing_spans *spans;
    int result;

    if (source == NULL)
        return -1;
    spans = swing_source_spans(source);
    result = make_room(jobs, spans->count, error);
    for (size_t i = 0; result == 0 && i < spans->count; i++) {
        const struct swing_span *span = &spans->spans[i];

        snprintf(jobs->names[i], NAME_SIZE, "--only=%.40s:%" PRId64, span->vat_id, span->start);
        jobs->jobs[i].options[1] = "--part=0/1";
        jobs->jobs[i].weight = span->items;
    }
    if (result == 0 && spans->count == 0)
        result = error_set(error, ERROR_INPUT, "%s: there is no such span in it", source->name);
    source->operations->close(source);
    return result;
}

/* So with the files of an archive, which are spans. */
static int share_files(struct jobs *jobs, const struct archive_files *files, struct error *error)
{
    if (make_room(jobs, files->count, error) != 0)
        return -1;
    for (size_t i = 0; i < files->count; i++) {
        snprintf(jobs->names[i], NAME_SIZE, "--only=%.40s:%" PRId64, files->files[i].vat_id,
                 files->files[i].first);
        jobs->jobs[i].options[1] = "--part=0/1";
        jobs->jobs[i].weight = files->files[i].size;
    }
    return 0;
}

static int share(struct jobs *jobs, const struct replay_options *options, struct error *error)
{
    if (any_source_is_swing_store(options))
        return share_spans(jobs, options, error);
    if (options->archived.count > 0)
        return share_files(jobs, &options->archived, error);
    return share_vats(jobs, options->jobs, error);
}

static int replay_in_parts(const struct replay_options *options, int argc, char **argv,
                           struct error *error)
{
    struct replay_parts parts = {0};
    struct jobs jobs = {0};
    int status = share(&jobs, options, error);

    if (status == 0) {
        const struct replay_children children = {
            .jobs = jobs.jobs,
            .job_count = jobs.count,
            .at_once = options->jobs,
            .argc = argc,
            .argv = argv,
            .json = options->json,
        };

        status = replay_children_run(&parts, &children, error);
    }
    if (status == 0)
        status = replay_print(options, parts.results, parts.count, error);
    replay_parts_free(&parts);
    free(jobs.jobs);
    free(jobs.names);
    return status;
}

/* ---- the command ---- */

static int do_as_asked(const struct replay_options *options, int argc, char **argv,
                       struct error *error)
{
    if (options->export != NULL)
        return store_source_export(options->store, options->stored_vat, options->export, error);
    if (options->list)
        return replay_list(options, error);
    if (options->is_part)
        return replay_children_join(error) == 0 ? replay_here(options, error) : -1;
    /* Of a store it is one vat. */
    if (options->jobs > 1 && options->store == NULL)
        return replay_in_parts(options, argc, argv, error);
    return replay_here(options, error);
}

int replay_command(int argc, char **argv)
{
    struct replay_options options;
    struct error error;
    enum option_result parsed = replay_options_parse(&options, argc, argv, &error);
    int status;

    if (parsed != OPTION_TAKEN) {
        status = option_end(&replay_options_table, parsed, &error);
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
