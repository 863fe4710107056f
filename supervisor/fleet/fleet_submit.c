/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet_submit.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/fleet/submit/submission.h"

static int say(const struct submission *submission, struct error *error)
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
        result = error_system(error, errno, "cannot write to stdout");
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
        result = say(&submission, error);
    fleet_run_free(&submission.run);
    json_decref(submission.arguments);
    return result;
}
