/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/visible.h"
#include "supervisor/common_options.h"
#include "supervisor/estimate/plan.h"
#include "supervisor/fleet/fleet.h"
#include "supervisor/fleet/fleet_cut.h"
#include "supervisor/fleet/fleet_job.h"
#include "supervisor/fleet/fleet_object.h"
#include "supervisor/fleet/shared_span.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/transcript/delivery_compare.h"

/* ---- the jobs of a run ---- */

/* A run in the making. */
struct submission {
    const struct fleet_options *options;
    struct fleet_transport *transport;
    const struct job_kind *kind;
    char fingerprint[FLEET_HASH_SIZE]; /* of its workers */
    json_t *arguments;                 /* of each job's process; owned */
    struct fleet_run run;
    size_t added; /* jobs that were not there before */
    int64_t amount;
};

/* Adds an argument to all jobs. Failure shows when a job is put. */
__attribute__((format(printf, 2, 3))) static void
submission_add_argument(struct submission *submission, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (text == NULL || json_array_append_new(submission->arguments, json_string(text)) != 0) {
        json_decref(submission->arguments);
        submission->arguments = NULL;
    }
    free(text);
}

static int make_job(struct submission *submission, json_t *members, struct fleet_job *job,
                    struct error *error)
{
    const struct replay_options *options = &submission->options->replay;
    /* A program that does not know these members must not do the job without them. */
    const int version = options->priced || json_object_get(members, "source") != NULL ? 2 : 1;

    if (members == NULL || (options->priced && job_gas_set(members, &options->gas) != 0) ||
        json_object_set_new(members, "version", json_integer(version)) != 0 ||
        json_object_set_new(members, "kind", json_string(submission->kind->name)) != 0 ||
        json_object_set(members, "arguments", submission->arguments) != 0 ||
        json_object_set_new(members, "fingerprint", json_string(submission->fingerprint)) != 0) {
        json_decref(members);
        return error_memory(error, "a job");
    }
    return fleet_job_make(job, members, error);
}

/* Makes a job of its kind's own members, which are taken over, also on failure. `entry` is its line
 * in the run, without ID. -1 with ERROR_SYSTEM or what the transport says. */
static int submission_put(struct submission *submission, json_t *members,
                          const struct fleet_run_job *entry, struct error *error)
{
    struct fleet_transport *transport = submission->transport;
    struct fleet_run_job line = *entry;
    struct fleet_job job = {0};
    bool added = false;
    int result = make_job(submission, members, &job, error);

    if (result == 0)
        result = transport->operations->put_job(transport, job.id, &job.text, entry->amount, &added,
                                                error);
    memcpy(line.id, job.id, sizeof line.id);
    if (result == 0)
        result = fleet_run_add(&submission->run, submission->kind, &line, error);
    submission->added += added;
    submission->amount += entry->amount;
    fleet_job_free(&job);
    return result;
}

/* ---- files ---- */

static int add_submitted_file(json_t *files, const char *name, const char *object,
                              struct error *error)
{
    json_t *file = json_pack("{s:s,s:s}", "name", name, "object", object);

    return file != NULL && json_array_append_new(files, file) == 0 ? 0
                                                                   : error_memory(error, "a job");
}

/* The same where the file stays in the shared directory of the options, and the job names it. */
static int submission_name_file(struct submission *submission, json_t *files, const char *path,
                                const char *name, int64_t *size, struct error *error)
{
    json_t *below = shared_path_below(submission->options->shared, path, error), *file;
    char hash[FLEET_HASH_SIZE];
    struct stat status;
    int result = -1;

    if (below == NULL)
        return -1;
    if (stat(path, &status) != 0)
        error_set(error, ERROR_INPUT, "%s: %s", path, strerror(errno));
    else if (fingerprint_hash(path, hash, error) != 0)
        error->kind = ERROR_INPUT;
    else
        result = add_submitted_file(files, name, hash, error);
    file = json_array_get(files, json_array_size(files) - 1);
    if (result == 0 && json_object_set(file, "shared", below) != 0)
        result = error_memory(error, "a job");
    *size = result == 0 ? status.st_size : 0;
    json_decref(below);
    return result;
}

/* The same of bytes in memory, which become an object. */
static int submission_put_bytes(struct submission *submission, json_t *files, const void *bytes,
                                size_t length, const char *name, struct error *error)
{
    char object[FLEET_HASH_SIZE];

    if (fleet_object_put(submission->transport, bytes, length, object, error) != 0)
        return -1;
    return add_submitted_file(files, name, object, error);
}

/* Puts a file of the user's into the fleet, as an object and as an item of a job's "files" under
 * that name. *size: in bytes. -1 with ERROR_INPUT or ERROR_SYSTEM. */
static int submission_put_file(struct submission *submission, json_t *files, const char *path,
                               const char *name, int64_t *size, struct error *error)
{
    char object[FLEET_HASH_SIZE];

    if (fleet_object_put_file(submission->transport, path, object, size, error) != 0)
        return -1;
    return add_submitted_file(files, name, object, error);
}

/* ---- spans ---- */

/* ---- what decides how a span is replayed ---- */

static void add_aspects(struct submission *submission, const struct replay_options *options)
{
    static const struct {
        enum compare_aspect aspect;
        const char *name;
    } aspects[] = {{COMPARE_COMPUTRONS, "computrons"},
                   {COMPARE_INSTRUCTIONS, "instructions"},
                   {COMPARE_SNAPSHOT, "snapshots"},
                   {COMPARE_ALLOCATION, "allocation"}};

    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        if (options->tolerated & 1U << aspects[i].aspect)
            submission_add_argument(submission, "--tolerate=%s", aspects[i].name);
    if (options->tolerates_gc)
        submission_add_argument(submission, "--tolerate=gc");
    if (options->compares_allocation && !(options->tolerated & 1U << COMPARE_ALLOCATION))
        submission_add_argument(submission, "--strict=allocation");
}

/* In one way for each meaning, so that the same work has the same ID. */
static void add_arguments(struct submission *submission, const struct replay_options *options)
{
    add_aspects(submission, options);
    if (options->counters.qemu || options->counters.compiled)
        submission_add_argument(submission, "--counter=%s",
                                common_options_counter_name(options->counters));
    if (options->compute_given)
        submission_add_argument(submission, "--compute-limit=%" PRIu64, options->compute_limit);
    submission_add_argument(submission, "--delivery-timeout=%" PRIu64,
                            (options->timeout_ms + 999) / 1000);
    if (options->instruction_limit > 0)
        submission_add_argument(submission, "--max-instructions=%" PRIu64,
                                options->instruction_limit);
    if (options->cost_given)
        submission_add_argument(submission, "--max-cost=%" PRIu64, options->cost_limit);
    if (options->deliveries)
        submission_add_argument(submission, "--deliveries");
}

/* ---- jobs ---- */

/* A run of spans, whose source may stay in a shared directory. */
struct spans_target {
    struct submission *submission;
    json_t *source; /* as of shared_span_name(); NULL: it does not */
};

static int add_span(void *context, const struct fleet_cut_span *span, struct error *error)
{
    const struct spans_target *target = context;
    const struct fleet_run_job entry = {
        .name = (char *)(uintptr_t)span->vat_id,
        .first = span->first,
        .end = span->end,
        .amount = span->deliveries,
    };
    json_t *members =
        json_pack("{s:s,s:s,s:I,s:I,s:I,s:s,s:s,s:O}", "vatID", span->vat_id, "vat", span->vat,
                  "first", (json_int_t)span->first, "end", (json_int_t)span->end, "deliveries",
                  (json_int_t)span->deliveries, "transcript", span->transcript, "snapshot",
                  span->snapshot, "bundles", (json_t *)(uintptr_t)span->bundles);

    if (target->source != NULL && json_object_set(members, "source", target->source) != 0) {
        json_decref(members);
        return error_memory(error, "a job");
    }
    return submission_put(target->submission, members, &entry, error);
}

static int cut_spans(struct submission *submission, struct error *error)
{
    const struct fleet_options *options = submission->options;
    struct span_objects nowhere;
    struct spans_target spans = {.submission = submission};
    struct fleet_cut_target target = {
        .transport = submission->transport, .add = add_span, .context = &spans};
    int result;

    if (options->shared != NULL) {
        target.transport = span_objects_init(&nowhere, NULL);
        spans.source = shared_span_name(&options->replay, options->shared, error);
        if (spans.source == NULL)
            return -1;
    }
    result = fleet_cut(&options->replay, &target, error);
    json_decref(spans.source);
    return result;
}

/* Each adds the jobs of its kind; -1 with the error. */
static int submit_spans(struct submission *submission, struct error *error)
{
    add_arguments(submission, &submission->options->replay);
    if (cut_spans(submission, error) != 0)
        return -1;
    return submission->run.count > 0 ? 0
                                     : error_set(error, ERROR_INPUT, "there is no delivery in it");
}

/* ---- operations of a suite ---- */

/* A suite whose contracts are objects. */
struct stored_suite {
    struct suite suite;
    json_t *files;     /* of a job: the contracts; owned */
    json_t *contracts; /* of suite.json: their names there; owned */
};

static int put_contracts(struct submission *submission, struct stored_suite *stored,
                         struct error *error)
{
    for (size_t i = 0; i < stored->suite.contract_count; i++) {
        const struct suite_contract *contract = &stored->suite.contracts[i];
        char name[32];
        int64_t size;

        snprintf(name, sizeof name, "contract-%zu", i);
        if (submission_put_file(submission, stored->files, contract->path, name, &size, error) != 0)
            return -1;
        if (json_object_set_new(stored->contracts, contract->name, json_string(name)) != 0)
            return error_memory(error, "a suite");
    }
    return 0;
}

/* suite.json with this operation alone. */
static char *write_suite(const struct stored_suite *stored, const char *operation)
{
    json_t *json = json_copy(stored->suite.json), *alone = json_array(), *item;
    char *text = NULL;
    size_t index;

    json_array_foreach(json_object_get(stored->suite.json, "operations"), index, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "name")), operation) == 0)
            (void)json_array_append(alone, item); /* else it is missing below */
    }
    if (json_array_size(alone) == 1 && json_object_set(json, "operations", alone) == 0 &&
        json_object_set(json, "contracts", stored->contracts) == 0)
        text = json_dumps(json, JSON_COMPACT);
    json_decref(alone);
    json_decref(json);
    return text;
}

/* How many calls the operation takes. */
static int count_suite_calls(const struct suite *suite, const struct suite_operation *operation,
                             int64_t *calls, struct error *error)
{
    struct suite alone = *suite;
    struct plan plan = {0};
    int result;

    alone.operations = (struct suite_operation *)(uintptr_t)operation;
    alone.operation_count = 1;
    result = plan_make(&plan, &alone, error);
    *calls = (int64_t)(plan.count * (suite->calls + 1));
    plan_free(&plan);
    return result;
}

static int submit_operation(struct submission *submission, const struct stored_suite *stored,
                            size_t place, struct error *error)
{
    const struct suite_operation *operation = &stored->suite.operations[place];
    struct fleet_run_job entry = {.name = (char *)(uintptr_t)operation->name,
                                  .first = (int64_t)place,
                                  .end = (int64_t)place + 1};
    json_t *files = json_copy(stored->files);
    char *text = write_suite(stored, operation->name);
    int result = files != NULL && text != NULL ? 0 : error_memory(error, "a job");

    if (result == 0)
        result = count_suite_calls(&stored->suite, operation, &entry.amount, error);
    if (result == 0)
        result = submission_put_bytes(submission, files, text, strlen(text), "suite.json", error);
    if (result == 0)
        result = submission_put(submission,
                                json_pack("{s:s,s:s,s:O}", "suite", stored->suite.name, "name",
                                          operation->name, "files", files),
                                &entry, error);
    free(text);
    json_decref(files);
    return result;
}

static int read_suite(struct submission *submission, struct stored_suite *stored,
                      struct error *error)
{
    const struct fleet_options *options = submission->options;

    if (suite_read(&stored->suite, options->replay.sources[0], error) != 0)
        return -1;
    if (options->only != NULL && suite_select(&stored->suite, options->only) == 0)
        return error_set(error, ERROR_USAGE, "no operation of suite %s matches '%s'",
                         stored->suite.name, options->only);
    return put_contracts(submission, stored, error);
}

static int submit_suite(struct submission *submission, struct error *error)
{
    const struct fleet_options *options = submission->options;
    struct stored_suite stored = {.files = json_array(), .contracts = json_object()};
    int result =
        stored.files != NULL && stored.contracts != NULL ? 0 : error_memory(error, "a suite");

    submission_add_argument(submission, "--counter=%s",
                            common_options_counter_name(options->replay.counters));
    if (options->near_protocol > 0)
        submission_add_argument(submission, "--near-protocol=%" PRIu64, options->near_protocol);
    if (result == 0)
        result = read_suite(submission, &stored, error);
    for (size_t i = 0; result == 0 && i < stored.suite.operation_count; i++)
        result = submit_operation(submission, &stored, i, error);
    suite_free(&stored.suite);
    json_decref(stored.files);
    json_decref(stored.contracts);
    return result;
}

/* ---- slogfiles ---- */

/* The slogfile's name for messages: a file name may have any bytes, JSON needs UTF-8. NULL if out
 * of memory. */
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

static int submit_slogs(struct submission *submission, struct error *error)
{
    const struct fleet_options *options = submission->options;

    if (options->by != NULL && submission->kind == &job_kind_summary)
        submission_add_argument(submission, "--by=%s", options->by);
    for (size_t i = 0; i < options->replay.source_count; i++)
        if (submit_slog(submission, options->replay.sources[i], i, error) != 0)
            return -1;
    return 0;
}

/* ---- the command ---- */

static int say_submitted(const struct submission *submission, struct error *error)
{
    const struct job_kind *kind = submission->kind;
    struct buf out = {0};
    int result = 0;

    if (submission->options->replay.json)
        buf_printf(&out,
                   "{\"kind\":\"run\",\"run\":\"%s\",\"of\":\"%s\",\"spans\":%zu,\"added\":%zu,"
                   "\"%s\":%" PRId64 "}\n",
                   submission->run.name, kind->name, submission->run.count, submission->added,
                   kind->member, submission->amount);
    else
        buf_printf(&out, "run %s: %zu %s, %zu of them new; %" PRId64 " %s\n", submission->run.name,
                   submission->run.count, kind->items, submission->added, submission->amount,
                   kind->unit);
    if (buf_failed(&out))
        result = error_memory(error, "the output");
    else if (io_write_all(STDOUT_FILENO, out.data, out.length) != 0)
        result = io_fail_stdout("cannot write to stdout", error);
    buf_free(&out);
    return result;
}

static int submit_jobs(struct submission *submission, struct error *error)
{
    if (submission->kind == &job_kind_replay)
        return submit_spans(submission, error);
    if (submission->kind == &job_kind_estimate)
        return submit_suite(submission, error);
    return submit_slogs(submission, error);
}

int fleet_submit(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error)
{
    struct submission submission = {.options = options,
                                    .transport = transport,
                                    .kind = fleet_options_kind(options),
                                    .arguments = json_array()};
    int result = 0;

    if (submission.arguments == NULL)
        return error_memory(error, "the jobs of a fleet");
    if (options->run != NULL)
        result = fleet_run_check_name(options->run, error);
    if (result == 0)
        result = submission.kind->fingerprint(options->replay.worker, options->replay.counters,
                                              submission.fingerprint, error);
    if (result == 0)
        result = submit_jobs(&submission, error);
    if (result == 0)
        result = fleet_run_put(&submission.run, options->run, transport, error);
    if (result == 0)
        result = say_submitted(&submission, error);
    fleet_run_free(&submission.run);
    json_decref(submission.arguments);
    return result;
}
