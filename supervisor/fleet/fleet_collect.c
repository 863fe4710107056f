/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/io.h"
#include "base/json/json_value.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/output/output_file.h"
#include "base/visible.h"
#include "supervisor/estimate/estimate_output.h"
#include "supervisor/fleet/fleet.h"
#include "supervisor/fleet/fleet_job.h"
#include "supervisor/fleet/fleet_object.h"
#include "supervisor/fleet/scratch_directory.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/guest.h"
#include "supervisor/replay/replay_result.h"

/* ---- results, in the order of the run ---- */

/* The results of a run while they are collected. */
struct collection {
    const struct fleet_options *options;
    struct fleet_transport *transport;
    struct fleet_run run;
    size_t missing, failed, cancelled; /* jobs without a result */
};

/* Takes the result of a job: its first line, about the worker, then the process's output. -1 with
 * the error. */
typedef int collection_take(void *context, const struct buf *result, struct error *error);

static int report_failed_job(struct collection *collection, const struct fleet_run_job *job,
                             struct error *error)
{
    struct fleet_transport *transport = collection->transport;
    struct buf words = {0};
    int result = transport->operations->get_words(transport, job->id, &words, error);
    size_t length = words.length;

    collection->failed++;
    while (length > 0 && words.data[length - 1] == '\n')
        length--;
    if (result == 0) {
        const char *last = memrchr(words.data, '\n', length);
        const size_t from = last != NULL ? (size_t)(last + 1 - words.data) : 0;

        log_line("failed: %s: %.*s", job->name, (int)(length - from), words.data + from);
    }
    buf_free(&words);
    return result;
}

static int take_done_job(struct collection *collection, const struct fleet_run_job *job,
                         collection_take *take, void *context, struct error *error)
{
    struct buf text = {0};
    int result = job_result_get(collection->transport, job->id, &text, error);

    if (result == 0) {
        result = take(context, &text, error);
    } else if (error->kind == ERROR_INPUT) {
        collection->failed++;
        log_line("failed: %s: %s", job->name, error->text);
        result = 0;
    }
    buf_free(&text);
    return result;
}

static int take_job(struct collection *collection, const struct fleet_run_job *job,
                    collection_take *take, void *context, struct error *error)
{
    struct fleet_transport *transport = collection->transport;
    enum fleet_state state;

    if (transport->operations->state(transport, job->id, &state, error) != 0)
        return -1;
    if (state == FLEET_DONE)
        return take_done_job(collection, job, take, context, error);
    if (state == FLEET_FAILED)
        return report_failed_job(collection, job, error);
    collection->cancelled += state == FLEET_CANCELLED;
    collection->missing += state != FLEET_CANCELLED;
    return 0;
}

/*
 * Calls take() for each result, in the order of the run, and logs jobs that have none. -1 with the
 * error; ERROR_INPUT: some have none, and the user did not allow that.
 */
static int collection_each(struct collection *collection, collection_take *take, void *context,
                           struct error *error)
{
    const struct fleet_run *run = &collection->run;
    const char *items = run->kind->items;

    for (size_t i = 0; i < run->count; i++)
        if (take_job(collection, &run->jobs[i], take, context, error) != 0)
            return -1;
    if (collection->missing > 0 && !collection->options->partial)
        return error_set(error, ERROR_INPUT,
                         "the run %s: %zu of %zu %s are not done; --partial collects the others",
                         run->name, collection->missing, run->count, items);
    if (collection->missing + collection->cancelled > 0)
        log_line("the run %s: %zu of %zu %s are not done, %zu of these are cancelled", run->name,
                 collection->missing + collection->cancelled, run->count, items,
                 collection->cancelled);
    return 0;
}

/* The exit status where the results themselves are good. */
static int collection_status(const struct collection *collection)
{
    if (collection->failed > 0)
        return ERROR_SYSTEM;
    return collection->missing + collection->cancelled == 0 ? 0 : ERROR_INPUT;
}

/* ---- replays ---- */

struct spans {
    struct collection *collection;
    struct replay_result **results; /* owned */
    size_t count, capacity;
};

static int collect_spans_add(struct spans *spans, struct replay_result *result, struct error *error)
{
    struct replay_result **results =
        array_reserve(spans->results, &spans->capacity, spans->count + 1, sizeof *results);

    if (results == NULL)
        return error_memory(error, "the results");
    spans->results = results;
    results[spans->count++] = result;
    return 0;
}

static void take_over(struct replay_result *into, struct replay_result *from)
{
    into->status = from->status;
    into->difference = from->difference;
    into->is_against = from->is_against;
    into->description = from->description;
    free(into->file);
    into->file = from->file;
    from->difference = (struct difference){0};
    from->description = (struct buf){0};
    from->file = NULL;
}

/* Adds another span of the same vat: the first difference counts, and totals add up. */
static void merge(struct replay_result *into, struct replay_result *from)
{
    const bool differed = into->status == REPLAY_DIFFERS;

    replay_counts_add(&into->counts, &from->counts);
    if (into->first_num == 0)
        into->first_num = from->first_num;
    if (differed)
        return;
    into->delivery_num = from->delivery_num;
    if (from->status == REPLAY_DIFFERS) {
        difference_free(&into->difference);
        buf_free(&into->description);
        take_over(into, from);
    } else if (from->status == REPLAY_SKIPPED && into->status == REPLAY_SAME) {
        into->status = REPLAY_SKIPPED;
        memcpy(into->why, from->why, sizeof into->why);
    }
}

/* Takes over the result if it is kept, and leaves NULL. */
static int take_result(struct spans *spans, struct replay_result **result, struct error *error)
{
    struct replay_result *last = spans->count > 0 ? spans->results[spans->count - 1] : NULL;

    if (!spans->collection->options->spans && last != NULL &&
        strcmp(last->id, (*result)->id) == 0 && strcmp(last->name, (*result)->name) == 0) {
        merge(last, *result);
        return 0;
    }
    if (collect_spans_add(spans, *result, error) != 0)
        return -1;
    *result = NULL;
    return 0;
}

static int print_notes(const struct buf *notes, struct error *error)
{
    if (notes->length > 0 && io_write_all(STDOUT_FILENO, notes->data, notes->length) != 0)
        return io_fail_stdout("cannot write the results to stdout", error);
    return 0;
}

static int take_part(void *context, const struct buf *text, struct error *error)
{
    struct spans *spans = context;
    struct replay_part part = {0};
    int result = replay_part_read(&part, text->data, text->length,
                                  spans->collection->options->replay.json, error);

    if (result == 0)
        result = print_notes(&part.notes, error);
    for (size_t i = 0; result == 0 && i < part.count; i++)
        result = take_result(spans, &part.results[i], error);
    replay_part_free(&part);
    return result;
}

/* As of gaspipe replay. */
static int exit_status(const struct spans *spans)
{
    const int status = collection_status(spans->collection);
    bool replayed = false;

    for (size_t i = 0; i < spans->count; i++) {
        if (spans->results[i]->status == REPLAY_DIFFERS)
            return ERROR_DELIVERY;
        replayed = replayed || spans->results[i]->counts.deliveries > 0;
    }
    return status == 0 && !replayed ? ERROR_INPUT : status;
}

/* Each prints the results of a run of its kind. The exit status, or -1 with the error. */
static int collect_spans(struct collection *collection, struct error *error)
{
    struct spans spans = {.collection = collection};
    int result = collection_each(collection, take_part, &spans, error);

    if (result == 0)
        result = replay_output(spans.results, spans.count, collection->options->replay.json, error);
    if (result == 0)
        result = exit_status(&spans);
    for (size_t i = 0; i < spans.count; i++) {
        replay_result_free(spans.results[i]);
        free(spans.results[i]);
    }
    free(spans.results);
    return result;
}

/* ---- estimates ---- */

struct gathering {
    struct estimate estimate;
    size_t capacity; /* of its costs */
    json_t *lines;   /* that its text is borrowed from; owned */
};

static int add_collected_cost(struct gathering *gathering, const json_t *line, struct error *error)
{
    struct costs *costs = &gathering->estimate.costs;
    struct cost *items =
        array_reserve(costs->items, &gathering->capacity, costs->count + 1, sizeof *items);

    if (items == NULL)
        return error_memory(error, "the costs");
    costs->items = items;
    if (estimate_read_cost(&items[costs->count], line, error) != 0)
        return -1;
    costs->count++;
    return 0;
}

/* All operations are of one suite, and their workers had one fingerprint. */
static void take_summary(struct estimate *estimate, const json_t *line)
{
    const char *suite = json_string_value(json_object_get(line, "suite")),
               *fingerprint = json_string_value(json_object_get(line, "fingerprint"));

    if (suite != NULL)
        estimate->suite = suite;
    if (fingerprint != NULL)
        snprintf(estimate->fingerprint, sizeof estimate->fingerprint, "%s", fingerprint);
}

static int collect_costs_take_line(struct gathering *gathering, const char *text, size_t length,
                                   struct error *error)
{
    json_t *line = json_value_read(text, length, 0, NULL);
    const char *kind = json_string_value(json_object_get(line, "kind"));

    if (json_array_append_new(gathering->lines, line) != 0)
        return error_set(error, ERROR_INPUT, "a result is damaged");
    if (kind != NULL && strcmp(kind, "cost") == 0)
        return add_collected_cost(gathering, line, error);
    if (kind != NULL && strcmp(kind, "summary") == 0)
        take_summary(&gathering->estimate, line);
    return 0;
}

static int take_costs(void *context, const struct buf *result, struct error *error)
{
    size_t place = 0, length;
    const char *line;

    while (lines_next(result, &place, &line, &length))
        if (collect_costs_take_line(context, line, length, error) != 0)
            return -1;
    return 0;
}

static int collect_costs_print(struct gathering *gathering, bool json, struct error *error)
{
    struct buf out = {0};
    int result = 0;

    costs_sort(&gathering->estimate.costs);
    (json ? estimate_print_json : estimate_print_table)(&out, &gathering->estimate);
    if (buf_failed(&out))
        result = error_memory(error, "the costs");
    else if (visible_write(STDOUT_FILENO, out.data, out.length) != 0)
        result = io_fail_stdout("cannot write the costs to stdout", error);
    buf_free(&out);
    return result;
}

static int collect_costs(struct collection *collection, struct error *error)
{
    struct gathering gathering = {.estimate = {.suite = "", .label = ""}, .lines = json_array()};
    int result = gathering.lines != NULL ? 0 : error_memory(error, "the costs");

    if (result == 0)
        result = collection_each(collection, take_costs, &gathering, error);
    if (result == 0)
        result = collect_costs_print(&gathering, collection->options->replay.json, error);
    free(gathering.estimate.costs.items);
    json_decref(gathering.lines);
    return result == 0 ? collection_status(collection) : -1;
}

/* ---- reports on slogfiles ---- */

enum { MERGED_PATH_MAX = PATH_MAX + 64 };

/* slogreport's results for each slogfile, as files for `slogreport merge`: histograms, or a
 * directory of tables for rows. */
struct merging {
    const struct collection *collection;
    struct scratch_directory directory;
    struct command_line line;
    size_t count;
};

/* ---- histograms ---- */

static int take_histograms(void *context, const struct buf *result, struct error *error)
{
    struct merging *merging = context;
    const char *head = memchr(result->data, '\n', result->length);
    struct buf rest = {0};
    char path[MERGED_PATH_MAX];
    int status;

    if (head == NULL)
        return error_set(error, ERROR_INPUT, "a result is damaged");
    snprintf(path, sizeof path, "%s/%zu", merging->directory.path, merging->count);
    buf_append(&rest, head + 1, result->length - (size_t)(head + 1 - result->data));
    status = output_file_write_whole(path, "the histograms", &rest, error);
    buf_free(&rest);
    command_line_add(&merging->line, "%zu", merging->count++);
    return status;
}

/* ---- tables ---- */

static int take_table(struct merging *merging, const json_t *table, struct error *error)
{
    const char *name = json_string_value(json_object_get(table, "name"));
    const json_t *object = json_object_get(table, "object");
    char path[MERGED_PATH_MAX];

    /* Text that others have written must not become a path. */
    if (name == NULL || strspn(name, "abcdefghijklmnopqrstuvwxyz.") != strlen(name) ||
        name[0] == '.' || !job_check_hash(object))
        return error_set(error, ERROR_INPUT, "a result names no table");
    snprintf(path, sizeof path, "%s/%zu/%s", merging->directory.path, merging->count, name);
    return fleet_object_get(merging->collection->transport, json_string_value(object), name, path,
                            error);
}

static int take_tables(void *context, const struct buf *result, struct error *error)
{
    struct merging *merging = context;
    char path[MERGED_PATH_MAX];
    size_t place = 0, length;
    const char *line;

    snprintf(path, sizeof path, "%s/%zu", merging->directory.path, merging->count);
    if (mkdir(path, 0700) != 0)
        return error_system(error, errno, "cannot make %s", path);
    while (lines_next(result, &place, &line, &length)) {
        json_t *object = json_value_read(line, length, 0, NULL);
        const char *kind = json_string_value(json_object_get(object, "kind"));
        const int status =
            kind != NULL && strcmp(kind, "table") == 0 ? take_table(merging, object, error) : 0;

        json_decref(object);
        if (status != 0)
            return -1;
    }
    command_line_add(&merging->line, "%zu", merging->count++);
    return 0;
}

static void remove_tables(const struct merging *merging)
{
    char path[MERGED_PATH_MAX];

    for (size_t i = 0; i <= merging->count; i++) {
        snprintf(path, sizeof path, "%s/%zu", merging->directory.path, i);
        scratch_directory_clear(path);
        (void)rmdir(path); /* the last one may not be there */
    }
}

/* ---- slogreport ---- */

/* An absolute path, since slogreport runs in another directory. */
static int add_out(struct merging *merging, const char *out, struct error *error)
{
    char here[PATH_MAX];

    if (out[0] == '/') {
        command_line_add(&merging->line, "--out=%s", out);
        return 0;
    }
    if (getcwd(here, sizeof here) == NULL)
        return error_system(error, errno, "cannot find the current directory");
    command_line_add(&merging->line, "--out=%s/%s", here, out);
    return 0;
}

static int begin_line(struct merging *merging, struct error *error)
{
    const struct fleet_options *options = merging->collection->options;

    command_line_add(&merging->line, "slogreport");
    command_line_add(&merging->line, "merge");
    if (options->out != NULL)
        return add_out(merging, options->out, error);
    if (options->replay.json)
        command_line_add(&merging->line, "--json");
    if (options->by != NULL)
        command_line_add(&merging->line, "--by=%s", options->by);
    return 0;
}

/* Its exit status. */
static int merge_files(struct merging *merging, struct error *error)
{
    const int fds[] = {-1, STDOUT_FILENO, STDERR_FILENO};
    char program[PATH_MAX];
    struct child_launch launch = {
        .path = program,
        .environment = environ,
        .fds = fds,
        .fd_count = sizeof fds / sizeof *fds,
        .directory = merging->directory.path,
        .in_same_group = true,
    };
    int status;
    pid_t pid;

    if (command_line_check(&merging->line, error) != 0 || locate("slogreport", program, error) != 0)
        return -1;
    launch.arguments = merging->line.words;
    if (child_process_spawn(&launch, &pid, error) != 0 ||
        child_process_reap(pid, &status, error) != 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : ERROR_SYSTEM;
}

static int collect_slogs_merge(struct merging *merging, struct collection *collection,
                               struct error *error)
{
    const bool tables = collection->options->out != NULL;
    int status;

    if (begin_line(merging, error) != 0 ||
        collection_each(collection, tables ? take_tables : take_histograms, merging, error) != 0)
        return -1;
    if (merging->count == 0)
        return collection_status(collection);
    status = merge_files(merging, error);
    return status != 0 ? status : collection_status(collection);
}

static int collect_slogs(struct collection *collection, struct error *error)
{
    struct merging merging = {.collection = collection, .directory = {.lock = -1}};
    int result = scratch_directory_open(&merging.directory, error);

    if (result == 0)
        result = collect_slogs_merge(&merging, collection, error);
    if (collection->options->out != NULL)
        remove_tables(&merging);
    scratch_directory_close(&merging.directory);
    command_line_free(&merging.line);
    return result;
}

/* ---- the command ---- */

static int collect_results(struct collection *collection, struct error *error)
{
    const struct fleet_options *options = collection->options;
    const struct job_kind *kind = collection->run.kind;

    if (kind == NULL)
        return error_set(error, ERROR_INPUT, "the run %s is empty", collection->run.name);
    if (kind == &job_kind_rows && options->out == NULL)
        return error_set(error, ERROR_USAGE, "the run %s has tables: --out DIR writes them there",
                         collection->run.name);
    if (kind != &job_kind_rows && options->out != NULL)
        return error_set(error, ERROR_USAGE, "the run %s has no tables for --out",
                         collection->run.name);
    if (kind != &job_kind_summary && options->by != NULL)
        return error_set(error, ERROR_USAGE, "the run %s has no groups for --by",
                         collection->run.name);
    if (kind == &job_kind_replay)
        return collect_spans(collection, error);
    if (kind == &job_kind_estimate)
        return collect_costs(collection, error);
    return collect_slogs(collection, error);
}

int fleet_collect(const struct fleet_options *options, struct fleet_transport *transport,
                  struct error *error)
{
    struct collection collection = {.options = options, .transport = transport};
    int result = fleet_run_get(&collection.run, options->run, transport, error);

    if (result == 0)
        result = collect_results(&collection, error);
    fleet_run_free(&collection.run);
    return result;
}
