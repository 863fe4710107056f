/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/io.h"
#include "base/log.h"
#include "base/visible.h"
#include "supervisor/common_options.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/replay/replay_delivery.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_progress.h"
#include "supervisor/replay/replay_vat.h"

struct replay_run {
    const struct replay_options *options;
    uv_loop_t loop;
    bool has_loop;
    struct confinement confinement;
    struct launch_config launcher;
    struct placement placement;
    struct replay_runtime runtime;
    struct fingerprint fingerprint; /* when counted */
    struct replay_context context;
    struct replay_notes notes;
    struct replay_against against;
    struct replay_probes probes;
    struct replay_vat **vats;
    struct replay_result **results; /* of the part's vats */
    size_t vat_count, vat_capacity, result_count;
    uint64_t line;
    struct replay_progress *progress;
};

/* ---- which vats ---- */

/* The last one of that ID: each run of gaspipe without a store begins with v1. */
static struct replay_vat *replay_run_find_vat(const struct replay_run *run, struct scan_span id,
                                              size_t *index)
{
    for (*index = run->vat_count; *index > 0;)
        if (scan_is(id, run->vats[--*index]->result.id))
            return run->vats[*index];
    return NULL;
}

/* Returns true if the event creates another vat than this one, whose ID it has. */
static bool takes_over(const struct source_event *event, const struct replay_vat *vat)
{
    const char *name = vat->result.name;

    return event->kind == SOURCE_CREATE && event->name.at != NULL && name[0] != '\0' &&
           !scan_is(event->name, name);
}

static struct replay_vat *replay_run_add_vat(struct replay_run *run, struct scan_span id,
                                             struct error *error)
{
    struct replay_vat **vats =
        array_reserve(run->vats, &run->vat_capacity, run->vat_count + 1, sizeof *vats);
    struct replay_vat *vat;

    if (vats == NULL) {
        error_memory(error, "the vats");
        return NULL;
    }
    run->vats = vats;
    vat = replay_vat_new(id, &run->context, error);
    if (vat == NULL)
        return NULL;
    vats[run->vat_count++] = vat;
    return replay_against_join(&run->against, vat, error) == 0 ? vat : NULL;
}

static bool is_in_source(const struct replay_run *run, const char *name)
{
    for (size_t i = 0; i < run->vat_count; i++)
        if (strcmp(run->vats[i]->result.id, name) == 0 ||
            strcmp(run->vats[i]->result.name, name) == 0)
            return true;
    return false;
}

/* Each --vat has to be one, or what was to be checked was not. */
static int check_vats(const struct replay_run *run, struct error *error)
{
    const struct source_selection *selection = &run->options->selection;
    const char *source = run->context.source->name;

    for (size_t i = 0; i < selection->vat_count; i++)
        if (!is_in_source(run, selection->vats[i]))
            return error_set(error, ERROR_USAGE, "--vat %s: there is no such vat in %s",
                             selection->vats[i], source);
    if (run->vat_count == 0)
        return error_set(error, ERROR_INPUT, "%s: it has no vat", source);
    return 0;
}

/* The vats are shared out among the parts in the order in which they come. */
static bool is_of_part(const struct replay_run *run, size_t index)
{
    return index % run->options->part_count == run->options->part;
}

/* ---- events ---- */

/* Reports if the session's recorded instructions cannot be compared with this counter's. */
static void begin_recorded_session(struct replay_run *run, const struct source_event *event)
{
    const struct scan_span recorded = event->fingerprint;
    const char *name = run->context.source->name;

    run->context.rules.session_counts_alike =
        run->options->counters.qemu && scan_is(recorded, run->fingerprint.hash);
    if (recorded.at == NULL || run->context.rules.session_counts_alike || run->options->part > 0)
        return;
    if (!run->options->counters.qemu)
        log_line("%s:%" PRIu64 ": its instructions are not compared without --counter qemu", name,
                 event->line);
    else
        log_line("%s:%" PRIu64 ": its instructions are not compared: it was recorded with another "
                 "worker, QEMU, C library or limit (fingerprint %.*s, here %s)",
                 name, event->line, (int)(recorded.length < 64 ? recorded.length : 64), recorded.at,
                 run->fingerprint.hash);
}

static int take_event_of_vat(struct replay_run *run, struct replay_vat *vat, size_t index,
                             const struct source_event *event, struct error *error)
{
    if (event->kind == SOURCE_DELIVERY &&
        (event->delivery_num == RECORDED_NONE || event->delivery_num <= run->options->selection.to))
        replay_progress_pass(run->progress, run->vat_count);
    if (event->kind == SOURCE_DELIVERY && !is_of_part(run, index))
        return 0;
    if (event->delivery_num != RECORDED_NONE && event->delivery_num > run->options->selection.to) {
        if (event->kind == SOURCE_DELIVERY)
            replay_against_pass(vat);
        return 0;
    }
    if (event->kind != SOURCE_DELIVERY)
        return replay_against_take(vat, event, error);
    return replay_against_deliver(vat, event, error);
}

static int take_source_event(struct replay_run *run, const struct source_event *event,
                             struct error *error)
{
    size_t index;
    struct replay_vat *vat = replay_run_find_vat(run, event->vat_id, &index);

    run->line = event->line;
    if (event->kind == SOURCE_SESSION) {
        begin_recorded_session(run, event);
        return 0;
    }
    if (vat != NULL && takes_over(event, vat)) {
        replay_vat_close(vat);
        vat = NULL;
    }
    if (vat == NULL) {
        if (!source_event_is_wanted(event, &run->options->selection))
            return 0;
        index = run->vat_count;
        vat = replay_run_add_vat(run, event->vat_id, error);
    }
    return vat == NULL ? -1 : take_event_of_vat(run, vat, index, event, error);
}

static int print_lines(struct buf *lines, struct error *error)
{
    if (buf_failed(lines))
        return error_memory(error, "the output");
    if (lines->length > 0 && visible_write(STDOUT_FILENO, lines->data, lines->length) != 0)
        return io_fail_stdout("cannot write the results to stdout", error);
    buf_clear(lines);
    return 0;
}

static int print_replay_notes(struct replay_run *run, struct error *error)
{
    return print_lines(&run->notes.lines, error) == 0
               ? print_lines(&run->against.notes.lines, error)
               : -1;
}

static int take_source_events(struct replay_run *run, struct error *error)
{
    struct replay_source *source = run->context.source;
    struct source_event event;
    int result;

    while ((result = source->operations->next(source, &event, error)) == 1)
        if (take_source_event(run, &event, error) != 0 || print_replay_notes(run, error) != 0)
            return -1;
    if (result == 0 && source->torn && run->options->part == 0)
        log_line("%s ends in the midst of a line; what is before it was replayed", source->name);
    return result;
}

/* ---- all of it ---- */

static int open_replay_launcher(struct replay_run *run, struct error *error)
{
    const struct replay_options *options = run->options;

    if (confinement_open(&run->confinement, options->sandbox, error) != 0)
        return -1;
    if (options->worker != NULL
            ? launcher_open_xsnap(&run->launcher, options->worker, options->compute_limit, error) !=
                  0
            : launcher_open(&run->launcher, options->counters, options->compute_limit, error) != 0)
        return -1;
    run->launcher.confinement = &run->confinement;
    run->launcher.placement = &run->placement;
    if (options->compute_given)
        run->launcher.wasm_compute = (uint32_t)options->compute_limit;
    run->launcher.limits.instructions = options->instruction_limit;
    run->launcher.limits.cost =
        common_options_cost(options->cost_given, options->cost_limit, options->counters);
    run->launcher.cost_by_default = !options->cost_given;
    if (replay_probes_open(&run->probes, options, &run->launcher, error) != 0)
        return -1;
    if (!options->counters.qemu)
        return 0;
    return fingerprint_take_launcher(&run->fingerprint, &run->launcher, LAUNCHER_JAVASCRIPT, error);
}

static int open_all(struct replay_run *run, struct error *error)
{
    const struct replay_options *options = run->options;
    int status = uv_loop_init(&run->loop);

    if (status != 0)
        return error_set(error, ERROR_SYSTEM, "cannot start the event loop: %s",
                         uv_strerror(status));
    run->has_loop = true;
    run->runtime.warm = (struct runtime_snapshots){
        .loop = &run->loop,
        .launcher = &run->launcher,
        .timeout_ms = options->timeout_ms,
    };
    run->context.host = (struct replay_host){
        .loop = &run->loop,
        .launcher = &run->launcher,
        .runtimes = &run->runtime.runtimes,
        .warm = &run->runtime.warm,
        .placement = &run->placement,
        .timeout_ms = options->timeout_ms,
    };
    run->context.runtime = &run->runtime;
    run->context.snapshots = options->snapshots;
    run->context.notes = &run->notes;
    run->context.probes = &run->probes;
    run->context.rules.tolerated = options->tolerated;
    run->context.rules.tolerates_gc = options->tolerates_gc;
    run->context.rules.compares_allocation = options->compares_allocation;
    run->notes.json = options->json;
    run->notes.deliveries = options->deliveries;
    run->notes.gas = options->priced ? &options->gas : NULL;
    if (open_replay_launcher(run, error) != 0 ||
        replay_load_runtime(&run->runtime, options, error) != 0 ||
        replay_bundles_read(&run->context.bundles, options->bundles.items, options->bundles.count,
                            error) != 0)
        return -1;
    /* Counts that were taken from the start and from a snapshot are not alike. */
    if (options->counters.qemu && !options->from_start)
        run->context.rules.fingerprint = run->fingerprint.hash;
    run->context.source = replay_source_open(options, error);
    if (run->context.source == NULL)
        return -1;
    if (replay_against_open(&run->against, options, &run->context, error) != 0)
        return -1;
    /* Last: what was started before may run anywhere. */
    return placement_open(&run->placement, options->placement, options->slot, false, error);
}

/* Workers write into a trace until they end. */
static int close_probes(struct replay_run *run, struct error *error)
{
    for (size_t i = 0; i < run->vat_count; i++)
        replay_vat_close(run->vats[i]);
    return replay_probes_close(&run->probes, error);
}

/* The results of the vats that were this part's to replay. */
static int gather_results(struct replay_run *run, struct error *error)
{
    run->results = calloc(run->vat_count, sizeof *run->results);
    if (run->results == NULL)
        return error_memory(error, "the results");
    for (size_t i = 0; i < run->vat_count; i++)
        if (is_of_part(run, i))
            run->results[run->result_count++] = &run->vats[i]->result;
    return 0;
}

struct replay_run *replay_run_new(const struct replay_options *options, struct error *error)
{
    struct replay_run *run = calloc(1, sizeof *run);

    if (run == NULL) {
        error_memory(error, "a replay");
        return NULL;
    }
    run->options = options;
    run->launcher = (struct launch_config)LAUNCH_CONFIG_UNOPENED;
    return run;
}

int replay_run(struct replay_run *run, struct error *error)
{
    if (open_all(run, error) != 0)
        return -1;
    run->progress = replay_progress_new(run->options);
    if (take_source_events(run, error) != 0 || check_vats(run, error) != 0 ||
        close_probes(run, error) != 0)
        return -1;
    return gather_results(run, error);
}

struct replay_result *const *replay_run_results(const struct replay_run *run, size_t *count)
{
    *count = run->result_count;
    return run->results;
}

uint64_t replay_run_line(const struct replay_run *run)
{
    return run->line;
}

void replay_run_free(struct replay_run *run)
{
    struct error error;

    if (run == NULL)
        return;
    replay_progress_free(run->progress);
    (void)close_probes(run, &error); /* open only after another failure, which was reported */
    for (size_t i = 0; i < run->vat_count; i++)
        replay_vat_free(run->vats[i]);
    free(run->vats);
    free(run->results);
    if (run->context.source != NULL)
        run->context.source->operations->close(run->context.source);
    replay_bundles_free(&run->context.bundles);
    replay_against_close(&run->against);
    vat_runtimes_free(&run->runtime.runtimes);
    runtime_snapshots_free(&run->runtime.warm);
    buf_free(&run->runtime.ids);
    buf_free(&run->notes.lines);
    fingerprint_free(&run->fingerprint);
    launcher_close(&run->launcher);
    if (run->has_loop) {
        (void)uv_run(&run->loop, UV_RUN_DEFAULT); /* to the end of what is closing */
        (void)uv_loop_close(&run->loop);          /* all handles are closed */
    }
    confinement_close(&run->confinement);
    free(run);
}
