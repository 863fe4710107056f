/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_delivery.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/command.h"
#include "slog/model/describe.h"
#include "supervisor/process/worker_exit.h"
#include "supervisor/replay/replay_vat.h"

/* ---- a worker ---- */

/* Returns true if a worker can be started for a vat's first delivery. */
static bool can_start(struct replay_vat *vat, const struct source_event *event)
{
    if (vat->bundle.json.length == 0)
        (void)replay_vat_skip(vat, "%s",
                              vat->missing[0] != '\0'
                                  ? vat->missing
                                  : "the file does not hold its bundle; give it with --bundle");
    else if (!scan_is(describe_kind(event->delivery->delivery), "startVat"))
        (void)replay_vat_skip(vat, "the file does not hold its beginning");
    return vat->state == REPLAY_FRESH;
}

static int start_replay_worker(struct replay_vat *vat, struct error *error)
{
    /* A vat that starts from a snapshot of unknown origin is SwingSet's. */
    static const char any[SCAN_PADDING * 2] = "{\"moduleFormat\":\"endoZipBase64\"}";
    const struct replay_owner owner = replay_vat_owner(vat);
    const struct buf *json = &vat->bundle.json;
    const struct scan_span bundle = json->length > 0 ? (struct scan_span){json->data, json->length}
                                                     : (struct scan_span){any, strlen(any)};
    struct replay_worker *worker = &vat->worker;
    int result;

    if (vat_runtime_choose(worker->host->runtimes, bundle, &worker->runtime, error) != 0)
        return error->kind == ERROR_INPUT ? replay_vat_skip(vat, "%s", error->text) : -1;
    if (vat->state == REPLAY_FRESH)
        result = replay_worker_start(worker, &owner, error);
    else
        result = replay_worker_restore(worker, &owner, vat->snapshot_fd, error);
    if (result == 0)
        vat->state = REPLAY_LIVE;
    return result;
}

/* A worker that can be sent the delivery; else the vat is not live. */
static int provide_worker(struct replay_vat *vat, const struct source_event *event,
                          struct error *error)
{
    if (vat->state == REPLAY_FRESH && !event->replay && replay_vat_upgrade(vat, error) != 0)
        return -1;
    switch (vat->state) {
    case REPLAY_FRESH:
        return can_start(vat, event) ? start_replay_worker(vat, error) : 0;
    case REPLAY_STORED:
        return start_replay_worker(vat, error);
    case REPLAY_LOST:
        return replay_vat_lose(vat);
    default:
        return 0;
    }
}

/* ---- the end of a delivery ---- */

static int read_made_outcome(struct replay_vat *vat, const struct session_news *news,
                             struct delivery_outcome *outcome, struct error *error)
{
    const char command = replay_worker_command(news);
    struct buf words = {0};
    bool comparable;
    int result;

    if (command == COMMAND_DONE || command == COMMAND_FAILED) {
        const struct iovec frame = news->frame;
        char *payload = (char *)frame.iov_base + 1;

        if (command == COMMAND_FAILED)
            return delivery_outcome_fail(outcome, payload, frame.iov_len - 1, error);
        return delivery_outcome_read(outcome, (struct iovec){payload, frame.iov_len - 1}, error);
    }
    replay_worker_put_end(&vat->worker, news, &words);
    /* At a limit that an option sets, what was used depends on that. */
    comparable = buf_string(&words) != NULL && worker_exit_limit(words.data).what == NULL;
    result = delivery_outcome_fail(outcome, words.data, words.length, error);
    buf_free(&words);
    outcome->died = true;
    if (vat->worker.stopped && comparable) {
        outcome->metered = true;
        outcome->meter = vat->worker.used;
        vat->worker.used = (struct meter){0};
    }
    return result;
}

static void count_compared(struct replay_vat *vat, const struct delivery_compare *compare,
                           const struct delivery_outcome *outcome)
{
    const struct recorded_result *recorded = &compare->recorded->result;
    struct replay_counts *counts = &vat->result.counts;

    counts->deliveries++;
    counts->syscalls += (int64_t)compare->made;
    if (recorded->compute != RECORDED_NONE) {
        counts->computed++;
        counts->computrons += recorded->compute;
    }
    if (delivery_compare_counts(compare->rules, recorded, &outcome->meter)) {
        counts->counted++;
        counts->instructions += recorded->instructions;
    }
}

static void tolerate_difference(void *context, const struct difference *difference)
{
    struct replay_vat *vat = context;

    replay_note_tolerated(vat->context->notes, &vat->result, difference);
}

static void replay_delivery_note(struct replay_vat *vat, const char *status,
                                 const struct delivery_compare *compare,
                                 const struct delivery_outcome *outcome)
{
    const struct replay_note_delivery delivery = {
        .status = status,
        .syscalls = compare->made,
        .recorded = &compare->recorded->result,
        .meter = outcome != NULL && outcome->metered ? &outcome->meter : NULL,
    };

    replay_note_delivery(vat->context->notes, &vat->result, &delivery);
}

/* ---- what the worker did, for a second one ---- */

static int keep_syscall(struct replay_vat *vat, struct scan_span made, struct scan_span answer,
                        struct error *error)
{
    if (vat->made == NULL || (recorded_delivery_add_syscall(vat->made, made, 0) == 0 &&
                              recorded_delivery_add_answer(vat->made, answer) == 0))
        return 0;
    return error_memory(error, "a delivery");
}

static int keep_made_outcome(struct replay_vat *vat, const struct recorded_result *recorded,
                             const struct delivery_outcome *outcome, struct error *error)
{
    const struct meter *meter = &outcome->meter;
    const bool metered = outcome->metered && !recorded->limited;
    const struct recorded_result result = {
        .status = {outcome->status.data, outcome->status.length},
        .problem = {outcome->problem.data, outcome->problem.length},
        .compute = metered ? (int64_t)meter->compute : RECORDED_NONE,
        .allocate = metered ? (int64_t)meter->allocate : RECORDED_NONE,
        .instructions = metered && meter->counted ? (int64_t)meter->instructions : RECORDED_NONE,
        .line = recorded->line,
    };

    if (vat->made == NULL || recorded_delivery_add_result(vat->made, &result) == 0)
        return 0;
    return error_memory(error, "a delivery");
}

/* Ends the delivery with the result of its last comparison, unless it was the same. */
static int stop(struct replay_vat *vat, const struct source_event *event,
                enum compare_result compared, struct delivery_compare *compare, struct error *error)
{
    replay_delivery_note(vat, compared == COMPARE_DIFFERS ? "differs" : "cut", compare, NULL);
    if (compared == COMPARE_DIFFERS) {
        vat->result.difference = compare->difference;
        compare->difference = (struct difference){0};
        return replay_vat_differ(vat, error);
    }
    if (event->disorder != 0)
        return error_set(error, ERROR_INPUT,
                         "%s:%" PRIu64 ": out of order: each syscall is followed by one answer, "
                         "and a delivery one result at its end",
                         vat->context->source->name, event->disorder);
    /* The kernel was killed, perhaps: no further answers are recorded. */
    vat->result.counts.cut++;
    replay_vat_start_afresh(vat);
    return 0;
}

static int replay_probes_note(struct replay_probes *probes, const struct replay_result *vat,
                              const struct source_event *event, const struct meter *meter,
                              struct error *error);

/* A delivery that was stopped has a meter, too. */
static int note_probes(struct replay_vat *vat, const struct source_event *event,
                       const struct delivery_outcome *outcome, struct error *error)
{
    const struct meter *meter = outcome->metered ? &outcome->meter : &vat->worker.used;

    if (vat->context->probes == NULL || (!outcome->metered && !vat->worker.stopped))
        return 0;
    return replay_probes_note(vat->context->probes, &vat->result, event, meter, error);
}

static int replay_delivery_finish(struct replay_vat *vat, const struct source_event *event,
                                  const struct session_news *news, struct delivery_compare *compare,
                                  struct error *error)
{
    struct delivery_outcome outcome = {0};
    int result = read_made_outcome(vat, news, &outcome, error);

    if (result == 0)
        result = note_probes(vat, event, &outcome, error);
    if (result == 0) {
        enum compare_result compared = delivery_compare_outcome(compare, &outcome);

        if (compared != COMPARE_SAME) {
            result = stop(vat, event, compared, compare, error);
        } else {
            replay_bundle_settle(&vat->bundle, scan_is(compare->recorded->result.status, "ok"));
            count_compared(vat, compare, &outcome);
            replay_delivery_note(vat, "same", compare, &outcome);
            result = keep_made_outcome(vat, &compare->recorded->result, &outcome, error);
            if (outcome.died)
                replay_vat_close(vat);
        }
    }
    delivery_outcome_free(&outcome);
    return result;
}

/* The worker's use up to here is not known, and not compared. */
static int finish_refused(struct replay_vat *vat, const struct delivery_compare *compare,
                          struct error *error)
{
    struct recorded_result result = compare->recorded->result;

    result.compute = result.allocate = result.instructions = RECORDED_NONE;
    if (vat->made != NULL && recorded_delivery_add_result(vat->made, &result) != 0)
        return error_memory(error, "a delivery");
    vat->result.counts.deliveries++;
    vat->result.counts.syscalls += (int64_t)compare->made;
    replay_delivery_note(vat, "same", compare, NULL);
    replay_vat_close(vat);
    return 0;
}

/* ---- the delivery ---- */

static int send_recorded_delivery(struct replay_vat *vat, const struct recorded_delivery *recorded,
                                  struct error *error)
{
    static char head[] = "?[\"deliver\",", tail[] = "]";
    const struct scan_span vd = recorded->delivery;
    const struct iovec parts[] = {
        {head, sizeof head - 1},
        {(char *)vd.at, vd.length},
        {tail, sizeof tail - 1},
    };

    return session_send(vat->worker.session, parts, 3, error);
}

/* Answers the worker's syscalls until its delivery has ended, one way or another. */
static int exchange(struct replay_vat *vat, const struct source_event *event,
                    struct delivery_compare *compare, struct error *error)
{
    for (;;) {
        enum compare_result compared;
        struct session_news news;
        struct scan_span answer, message;

        if (replay_worker_wait(&vat->worker, &news, error) != 0)
            return -1;
        if (replay_worker_command(&news) != COMMAND_REQUEST)
            return replay_delivery_finish(vat, event, &news, compare, error);
        message = (struct scan_span){(char *)news.frame.iov_base + 1, news.frame.iov_len - 1};
        compared = delivery_compare_syscall(compare, message, &answer);
        if (compared == COMPARE_REFUSED)
            return finish_refused(vat, compare, error);
        if (compared != COMPARE_SAME)
            return stop(vat, event, compared, compare, error);
        if (keep_syscall(vat, delivery_compare_syscall_of(message), answer, error) != 0)
            return -1;
        if (replay_worker_answer(&vat->worker, answer, error) != 0)
            return -1;
    }
}

/*
 * Delivers once more what was recorded, to a worker that is started where none runs. A
 * difference is no failure: it is in the vat's result. -1 when the system failed or the
 * source is bad.
 */
static int replay_delivery(struct replay_vat *vat, const struct source_event *event,
                           struct error *error)
{
    struct delivery_compare compare = {
        .recorded = event->delivery,
        .rules = &vat->context->rules,
        .known = vat->known_reads,
        .tolerate = tolerate_difference,
        .context = vat,
    };
    int result;

    if (vat->state == REPLAY_OVER)
        return 0;
    if (provide_worker(vat, event, error) != 0)
        return -1;
    if (vat->state != REPLAY_LIVE)
        return 0;
    if (vat->result.first_num == 0)
        vat->result.first_num = event->delivery_num;
    vat->result.delivery_num = event->delivery_num;
    buf_clear(&vat->result.description);
    describe_delivery(event->delivery->delivery, &vat->result.description);
    if (vat->made != NULL && recorded_delivery_begin(vat->made, event->delivery->delivery) != 0)
        return error_memory(error, "a delivery");
    placement_gather(vat->worker.host->placement);
    if (send_recorded_delivery(vat, event->delivery, error) != 0)
        return -1;
    result = exchange(vat, event, &compare, error);
    difference_free(&compare.difference);
    return result;
}

/* ---- a second worker ---- */

int replay_against_open(struct replay_against *against, const struct replay_options *options,
                        const struct replay_context *first, struct error *error)
{
    if (options->against == NULL)
        return 0;
    against->context = *first;
    against->context.runtime = &against->runtime;
    against->context.notes = &against->notes;
    against->context.probes = NULL;
    against->context.host.launcher = &against->launcher;
    against->context.host.runtimes = &against->runtime.runtimes;
    against->context.host.warm = &against->runtime.warm;
    against->runtime.warm = (struct runtime_snapshots){
        .loop = first->host.loop,
        .launcher = &against->launcher,
        .timeout_ms = options->timeout_ms,
    };
    against->notes.json = options->json;
    if (launcher_open_xsnap(&against->launcher, options->against, options->compute_limit, error) !=
        0)
        return -1;
    against->is_open = true;
    against->launcher.confinement = first->host.launcher->confinement;
    against->launcher.placement = first->host.launcher->placement;
    return replay_load_runtime(&against->runtime, options, error);
}

int replay_against_join(struct replay_against *against, struct replay_vat *vat, struct error *error)
{
    const struct scan_span id = {vat->result.id, strlen(vat->result.id)};

    if (!against->is_open)
        return 0;
    vat->made = calloc(1, sizeof *vat->made);
    if (vat->made == NULL)
        return error_memory(error, "a vat");
    vat->against = replay_vat_new(id, &against->context, error);
    return vat->against != NULL ? 0 : -1;
}

/* The second worker's result is the vat's, too. */
static int replay_against_judge(struct replay_vat *vat, struct error *error)
{
    struct replay_result *result = &vat->result, *second = &vat->against->result;

    result->counts.tolerated += second->counts.tolerated;
    second->counts.tolerated = 0;
    if (second->status == REPLAY_SKIPPED)
        return replay_vat_skip(vat, "in the second worker: %.200s", second->why);
    if (second->status != REPLAY_DIFFERS)
        return 0;
    result->difference = second->difference;
    second->difference = (struct difference){0};
    result->is_against = true;
    return replay_vat_differ(vat, error);
}

/* Returns true if there is a second worker, and something to compare it with. */
static bool has_second_worker(struct replay_vat *vat)
{
    if (vat->against != NULL && vat->result.status != REPLAY_SAME)
        replay_vat_close(vat->against);
    return vat->against != NULL && vat->result.status == REPLAY_SAME;
}

int replay_against_take(struct replay_vat *vat, const struct source_event *event,
                        struct error *error)
{
    if (replay_vat_take(vat, event, error) != 0)
        return -1;
    if (!has_second_worker(vat))
        return 0;
    return replay_vat_take(vat->against, event, error) == 0 ? replay_against_judge(vat, error) : -1;
}

void replay_against_pass(struct replay_vat *vat)
{
    replay_vat_pass(vat);
    if (vat->against != NULL)
        replay_vat_pass(vat->against);
}

int replay_against_deliver(struct replay_vat *vat, const struct source_event *event,
                           struct error *error)
{
    const int64_t before = vat->result.counts.deliveries;
    struct source_event made = *event;
    int64_t same;

    if (replay_delivery(vat, event, error) != 0)
        return -1;
    if (!has_second_worker(vat))
        return 0;
    if (vat->result.counts.deliveries == before) {
        /* Not finished in the recording: no answers are recorded for the second worker, either. */
        replay_vat_start_afresh(vat->against);
        return 0;
    }
    made.delivery = vat->made;
    same = vat->against->result.counts.deliveries;
    if (replay_delivery(vat->against, &made, error) != 0)
        return -1;
    vat->result.counts.against += vat->against->result.counts.deliveries - same;
    return replay_against_judge(vat, error);
}

void replay_against_close(struct replay_against *against)
{
    vat_runtimes_free(&against->runtime.runtimes);
    runtime_snapshots_free(&against->runtime.warm);
    buf_free(&against->runtime.ids);
    buf_free(&against->notes.lines);
    if (against->is_open)
        launcher_close(&against->launcher);
}

/* ---- what is measured of deliveries ---- */

static struct profile_paths paths_of(const struct replay_options *options)
{
    return (struct profile_paths){options->profile, options->profile_folded};
}

static struct profile_paths native_paths_of(const struct replay_options *options)
{
    return (struct profile_paths){options->native_profile, options->native_folded};
}

static int check_profile_sources(const struct replay_options *options, struct error *error)
{
    for (size_t i = 0; i < options->source_count; i++) {
        const char *source = options->sources[i];

        if (profile_files_check_input(paths_of(options), source, error) != 0 ||
            profile_files_check_input(native_paths_of(options), source, error) != 0 ||
            (options->trace.path != NULL &&
             output_file_check(options->trace.path, "the trace", source, error) != 0))
            return -1;
    }
    return 0;
}

static int open_native_probe(struct replay_probes *probes, const struct replay_options *options,
                             struct launch_config *launcher, struct error *error)
{
    const struct profile_paths paths = native_paths_of(options);

    if (paths.json == NULL && paths.folded == NULL)
        return 0;
    probes->native = native_session_open(
        paths, options->counters.qemu ? NATIVE_INSTRUCTIONS : NATIVE_BLOCK_COST, error);
    if (probes->native == NULL)
        return -1;
    launcher->native_profile = native_session_launcher(probes->native);
    return 0;
}

int replay_probes_open(struct replay_probes *probes, const struct replay_options *options,
                       struct launch_config *launcher, struct error *error)
{
    if (check_profile_sources(options, error) != 0 ||
        profile_files_open(&probes->profiles, paths_of(options), error) != 0 ||
        open_native_probe(probes, options, launcher, error) != 0)
        return -1;
    launcher->profile = probes->profiles.count > 0;
    if (options->trace.path == NULL)
        return 0;
    probes->trace = trace_session_open(&options->trace, error);
    if (probes->trace == NULL)
        return -1;
    launcher->trace = trace_session_launcher(probes->trace);
    return 0;
}

static int note_profile(struct replay_probes *probes, const struct profiled_delivery *delivery,
                        struct error *error)
{
    if (profile_files_add(&probes->profiles, delivery, error) != 0)
        return -1;
    return profile_files_flush(&probes->profiles, error);
}

static int note_native(struct replay_probes *probes, const struct profiled_delivery *delivery,
                       const struct meter *meter, struct error *error)
{
    if (probes->native == NULL || meter->stamp_count == 0)
        return 0;
    if (native_session_add(probes->native, delivery, meter->stamps[0].mono,
                           meter->stamps[meter->stamp_count - 1].mono, error) != 0)
        return -1;
    return profile_files_flush(native_session_files(probes->native), error);
}

static int note_replay_trace(struct replay_probes *probes, const struct profile_delivery *of,
                             const struct meter *meter, struct error *error)
{
    struct trace_delivery delivery = {
        .vat_id = of->vat_id,
        .vat = of->vat,
        .method = of->method,
        .crank_num = of->crank_num,
        .delivery_num = of->delivery_num,
    };

    if (probes->trace == NULL || meter->stamp_count == 0)
        return 0;
    delivery.begin = meter->stamps[0].mono;
    delivery.end = meter->stamps[meter->stamp_count - 1].mono;
    return trace_session_delivery(probes->trace, &delivery, error);
}

static int describe_probed(struct replay_probes *probes, struct scan_span delivery,
                           struct error *error)
{
    const struct scan_span kind = describe_kind(delivery);

    buf_clear(&probes->method);
    if (scan_is(kind, "message"))
        describe_delivered_method(delivery, &probes->method);
    else
        describe_string(kind, &probes->method);
    return buf_string(&probes->method) != NULL ? 0 : error_memory(error, "a delivery");
}

/* Writes what a delivery's meter says. -1 with ERROR_INPUT or ERROR_SYSTEM. */
static int replay_probes_note(struct replay_probes *probes, const struct replay_result *vat,
                              const struct source_event *event, const struct meter *meter,
                              struct error *error)
{
    struct profiled_delivery delivery = {
        .delivery = {.vat_id = vat->id,
                     .vat = vat->name,
                     .crank_num = event->crank_num,
                     .delivery_num = event->delivery_num},
        .profile = meter->profile,
        .counted = meter->counted,
        .instructions = meter->instructions,
        .costed = meter->cost_known,
        .block_cost = meter->block_cost,
    };

    if (probes->profiles.count == 0 && probes->native == NULL && probes->trace == NULL)
        return 0;
    if (describe_probed(probes, event->delivery->delivery, error) != 0)
        return -1;
    delivery.delivery.method = probes->method.data;
    if (note_profile(probes, &delivery, error) != 0 ||
        note_native(probes, &delivery, meter, error) != 0)
        return -1;
    return note_replay_trace(probes, &delivery.delivery, meter, error);
}

int replay_probes_close(struct replay_probes *probes, struct error *error)
{
    int result = profile_files_close(&probes->profiles, error);

    if (native_session_close(probes->native, error) != 0)
        result = -1;
    probes->native = NULL;
    if (trace_session_close(probes->trace, error) != 0)
        result = -1;
    probes->trace = NULL;
    buf_free(&probes->method);
    return result;
}
