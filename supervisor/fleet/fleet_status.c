/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/stamp.h"
#include "supervisor/fleet/fleet_job.h"

/* The rate is that of the last minutes. */
static const double WINDOW_SECONDS = 600;

struct progress {
    size_t spans[FLEET_CANCELLED + 1]; /* by state */
    int64_t amount, done;              /* of work, in units of the kind of the jobs */
    int64_t recent;                    /* of jobs that were finished within the window, */
    double since; /* the beginning of the first of these, seconds since the epoch; 0: none */
};

/* ---- one run ---- */

/* The first line of a result says when it came and how long it took. */
static int fleet_status_take_result(struct progress *progress, struct fleet_transport *transport,
                                    const struct fleet_run_job *job, double now,
                                    struct error *error)
{
    struct buf text = {0};
    double finished, began;
    json_t *head;

    if (job_result_get(transport, job->id, &text, error) != 0) {
        buf_free(&text);
        if (error->kind != ERROR_INPUT)
            return -1;
        progress->spans[FLEET_DONE]--;
        progress->spans[FLEET_FAILED]++;
        return 0;
    }
    head = json_value_read(text.data, strcspn(buf_string(&text) != NULL ? text.data : "", "\n"), 0,
                           NULL);
    finished = json_number_value(json_object_get(head, "finished"));
    began = finished - json_number_value(json_object_get(head, "seconds"));
    json_decref(head);
    buf_free(&text);
    progress->done += job->amount;
    if (now - finished > WINDOW_SECONDS)
        return 0;
    progress->recent += job->amount;
    if (progress->since <= 0 || began < progress->since)
        progress->since = began;
    return 0;
}

static int measure_progress(struct progress *progress, const struct fleet_run *run,
                            struct fleet_transport *transport, double now, struct error *error)
{
    for (size_t i = 0; i < run->count; i++) {
        enum fleet_state state;

        if (transport->operations->state(transport, run->jobs[i].id, &state, error) != 0)
            return -1;
        progress->spans[state]++;
        progress->amount += run->jobs[i].amount;
        if (state == FLEET_DONE &&
            fleet_status_take_result(progress, transport, &run->jobs[i], now, error) != 0)
            return -1;
    }
    return 0;
}

static void put_json(struct buf *out, const struct fleet_run *run, const struct progress *progress,
                     double rate, double left)
{
    buf_printf(out,
               "{\"kind\":\"run\",\"run\":\"%s\",\"spans\":%zu,\"done\":%zu,\"taken\":%zu,"
               "\"waiting\":%zu,\"failed\":%zu,\"cancelled\":%zu,\"of\":\"%s\",\"%s\":%" PRId64
               ",\"%sDone\":%" PRId64 ",\"perSecond\":%.3f,\"secondsLeft\":",
               run->name, run->count, progress->spans[FLEET_DONE], progress->spans[FLEET_TAKEN],
               progress->spans[FLEET_WAITING] + progress->spans[FLEET_UNKNOWN],
               progress->spans[FLEET_FAILED], progress->spans[FLEET_CANCELLED], run->kind->name,
               run->kind->member, progress->amount, run->kind->member, progress->done, rate);
    if (rate > 0)
        buf_printf(out, "%.0f}\n", left);
    else
        buf_append_string(out, "null}\n");
}

static void fleet_status_put_text(struct buf *out, const struct fleet_run *run,
                                  const struct progress *progress, double rate, double left)
{
    buf_printf(out, "run %s: %zu of %zu %s done, %zu at work, %zu waiting", run->name,
               progress->spans[FLEET_DONE], run->count, run->kind->items,
               progress->spans[FLEET_TAKEN],
               progress->spans[FLEET_WAITING] + progress->spans[FLEET_UNKNOWN]);
    if (progress->spans[FLEET_FAILED] > 0)
        buf_printf(out, ", %zu failed", progress->spans[FLEET_FAILED]);
    if (progress->spans[FLEET_CANCELLED] > 0)
        buf_printf(out, ", %zu cancelled", progress->spans[FLEET_CANCELLED]);
    buf_printf(out, "; %" PRId64 " of %" PRId64 " %s", progress->done, progress->amount,
               run->kind->unit);
    if (rate > 0 && progress->done < progress->amount)
        buf_printf(out, ", %.1f a second, %" PRId64 ":%02" PRId64 " minutes left", rate,
                   (int64_t)left / 60, (int64_t)left % 60);
    buf_append_byte(out, '\n');
}

struct status_list {
    const struct fleet_options *options;
    struct fleet_transport *transport;
    struct buf out;
};

static int put_run_status(void *context, const char *name, struct error *error)
{
    struct status_list *status_list = context;
    const double now = (double)stamp_now().real / 1e6;
    struct progress progress = {0};
    struct fleet_run run = {0};
    double rate = 0, left = 0;
    int result = fleet_run_get(&run, name, status_list->transport, error);

    if (result == 0 && run.kind == NULL)
        result = error_set(error, ERROR_INPUT, "the run %s is empty", name);
    if (result == 0)
        result = measure_progress(&progress, &run, status_list->transport, now, error);
    if (progress.since > 0 && now > progress.since)
        rate = (double)progress.recent / (now - progress.since);
    if (rate > 0)
        left = (double)(progress.amount - progress.done) / rate;
    if (result == 0 && status_list->options->replay.json)
        put_json(&status_list->out, &run, &progress, rate, left);
    else if (result == 0)
        fleet_status_put_text(&status_list->out, &run, &progress, rate, left);
    fleet_run_free(&run);
    return result;
}

int fleet_status(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error)
{
    struct status_list status_list = {.options = options, .transport = transport};
    int result;

    if (options->run != NULL)
        result = put_run_status(&status_list, options->run, error);
    else
        result = transport->operations->list_runs(transport, put_run_status, &status_list, error);
    if (result == 0 && buf_failed(&status_list.out))
        result = error_memory(error, "the output");
    if (result == 0 &&
        io_write_all(STDOUT_FILENO, status_list.out.data, status_list.out.length) != 0)
        result = io_fail_stdout("cannot write to stdout", error);
    buf_free(&status_list.out);
    return result;
}

int fleet_cancel(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error)
{
    struct fleet_run run = {0};
    int result = fleet_run_get(&run, options->run, transport, error);

    for (size_t i = 0; result == 0 && i < run.count; i++)
        result = transport->operations->cancel(transport, run.jobs[i].id, error);
    fleet_run_free(&run);
    return result;
}
