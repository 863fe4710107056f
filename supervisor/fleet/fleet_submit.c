/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet_submit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/fleet/fleet_job.h"
#include "supervisor/fleet/fleet_run.h"
#include "supervisor/fleet/span/fleet_cut.h"
#include "supervisor/fleet/span/fleet_fingerprint.h"
#include "supervisor/transcript/delivery_compare.h"

struct submission {
    const struct fleet_options *options;
    struct fleet_transport *transport;
    char fingerprint[FLEET_HASH_SIZE];
    json_t *arguments; /* of each replay */
    struct fleet_run run;
    size_t added; /* jobs that were not there before */
    int64_t deliveries;
};

/* ---- what decides how a span is replayed ---- */

static void add_text(json_t *arguments, const char *format, const char *text)
{
    (void)json_array_append_new(arguments, json_sprintf(format, text));
}

static void fleet_submit_add_number(json_t *arguments, const char *option, uint64_t number)
{
    (void)json_array_append_new(arguments, json_sprintf("--%s=%" PRIu64, option, number));
}

/* In one way for each meaning, so that the same work has the same ID. */
static json_t *make_arguments(const struct replay_options *options)
{
    static const struct {
        enum compare_aspect aspect;
        const char *name;
    } aspects[] = {{COMPARE_COMPUTRONS, "computrons"},
                   {COMPARE_INSTRUCTIONS, "instructions"},
                   {COMPARE_SNAPSHOT, "snapshots"},
                   {COMPARE_ALLOCATION, "allocation"}};
    const struct counters counters = options->counters;
    json_t *arguments = json_array();

    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        if (options->tolerated & 1U << aspects[i].aspect)
            add_text(arguments, "--tolerate=%s", aspects[i].name);
    if (options->tolerates_gc)
        add_text(arguments, "--tolerate=%s", "gc");
    if (options->compares_allocation && !(options->tolerated & 1U << COMPARE_ALLOCATION))
        add_text(arguments, "--strict=%s", "allocation");
    if (counters.qemu || counters.compiled)
        add_text(arguments, "--counter=%s",
                 !counters.compiled ? "qemu"
                 : counters.qemu    ? "qemu,compiled"
                                    : "compiled");
    if (options->compute_given)
        fleet_submit_add_number(arguments, "compute-limit", options->compute_limit);
    fleet_submit_add_number(arguments, "delivery-timeout", (options->timeout_ms + 999) / 1000);
    if (options->instruction_limit > 0)
        fleet_submit_add_number(arguments, "max-instructions", options->instruction_limit);
    if (options->deliveries)
        add_text(arguments, "%s", "--deliveries");
    return arguments;
}

/* ---- jobs ---- */

static int put_job(struct submission *submission, const struct fleet_job *job,
                   const struct fleet_cut_span *span, struct error *error)
{
    struct fleet_run_job entry = {
        .vat_id = (char *)(uintptr_t)span->vat_id,
        .first = span->first,
        .end = span->end,
        .deliveries = span->deliveries,
    };
    bool added;

    memcpy(entry.id, job->id, sizeof entry.id);
    if (submission->transport->operations->put_job(submission->transport, job->id, &job->text,
                                                   span->deliveries, &added, error) != 0)
        return -1;
    submission->added += added;
    submission->deliveries += span->deliveries;
    return fleet_run_add(&submission->run, &entry, error);
}

static int fleet_submit_add_span(void *context, const struct fleet_cut_span *span,
                                 struct error *error)
{
    struct submission *submission = context;
    struct fleet_job job = {0};
    json_t *json = json_pack(
        "{s:i,s:s,s:s,s:s,s:I,s:I,s:I,s:s,s:s,s:O,s:O,s:s}", "version", 1, "kind", "replay",
        "vatID", span->vat_id, "vat", span->vat, "first", (json_int_t)span->first, "end",
        (json_int_t)span->end, "deliveries", (json_int_t)span->deliveries, "transcript",
        span->transcript, "snapshot", span->snapshot, "bundles", (json_t *)(uintptr_t)span->bundles,
        "arguments", submission->arguments, "fingerprint", submission->fingerprint);
    int result;

    if (json == NULL)
        return error_memory(error, "a job");
    result = fleet_job_make(&job, json, error);
    if (result == 0)
        result = put_job(submission, &job, span, error);
    fleet_job_free(&job);
    return result;
}

static int say(const struct submission *submission, struct error *error)
{
    struct buf out = {0};
    int result = 0;

    buf_printf(&out,
               submission->options->replay.json
                   ? "{\"kind\":\"run\",\"run\":\"%s\",\"spans\":%zu,\"added\":%zu,"
                     "\"deliveries\":%" PRId64 "}\n"
                   : "run %s: %zu spans, %zu of them new; %" PRId64 " deliveries\n",
               submission->run.name, submission->run.count, submission->added,
               submission->deliveries);
    if (buf_failed(&out))
        result = error_memory(error, "the output");
    else if (io_write_all(STDOUT_FILENO, out.data, out.length) != 0)
        result = error_system(error, errno, "cannot write to stdout");
    buf_free(&out);
    return result;
}

int fleet_submit(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error)
{
    struct submission submission = {
        .options = options, .transport = transport, .arguments = make_arguments(&options->replay)};
    const struct fleet_cut_target target = {
        .transport = transport, .add = fleet_submit_add_span, .context = &submission};
    int result = 0;

    if (submission.arguments == NULL)
        return error_memory(error, "the jobs of a fleet");
    if (options->run != NULL)
        result = fleet_run_check_name(options->run, error);
    if (result == 0)
        result = fleet_fingerprint(options->replay.worker, options->replay.counters,
                                   submission.fingerprint, error);
    if (result == 0)
        result = fleet_cut(&options->replay, &target, error);
    if (result == 0 && submission.run.count == 0)
        result = error_set(error, ERROR_INPUT, "there is no delivery in it");
    if (result == 0)
        result = fleet_run_put(&submission.run, options->run, transport, error);
    if (result == 0)
        result = say(&submission, error);
    fleet_run_free(&submission.run);
    json_decref(submission.arguments);
    return result;
}
