/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/replay/recording_file.h"
#include "supervisor/replay/replay_bundles.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_output.h"
#include "supervisor/replay/replay_parts.h"
#include "supervisor/replay/replay_recording.h"
#include "supervisor/replay/replay_vat.h"
#include "supervisor/replay/stored_source.h"
#include "supervisor/runtime/warm_start.h"

static const uint64_t PROGRESS_NANOSECONDS = 5000000000;

struct replay {
    struct replay_options options;
    uv_loop_t loop;
    struct confinement confinement;
    struct launcher launcher;
    struct vat_runtimes runtimes;
    struct warm_starts warm;
    struct replay_bundles bundles;
    struct stored_source source; /* with --store */
    struct transcript *transcript;
    struct replay_host host;
    struct fingerprint fingerprint; /* when counted */
    struct replay_vat **vats;
    size_t vat_count, vat_capacity;
    size_t part;   /* of the vats, that is replayed in this process, from 0; see replay_parts.h */
    uint64_t line; /* of the last step */
    int64_t deliveries;    /* sent so far */
    uint64_t began, shown; /* nanoseconds, uv_hrtime() */
};

/* ---- which vats ---- */

/* The last one of that ID: runs of gaspipe without a store begin anew with v1. */
static struct replay_vat *find_vat(const struct replay *replay, struct scan_span id, size_t *index)
{
    for (*index = replay->vat_count; *index > 0;)
        if (scan_is(id, replay->vats[--*index]->id))
            return replay->vats[*index];
    return NULL;
}

/* Whether the step creates another vat than this one, whose ID it has. */
static bool takes_over(const struct transcript_step *step, const struct replay_vat *vat)
{
    return step->kind == TRANSCRIPT_CREATE && step->name.at != NULL && vat->name[0] != '\0' &&
           !scan_is(step->name, vat->name);
}

static struct replay_vat *add_vat(struct replay *replay, struct scan_span id, struct error *error)
{
    struct replay_vat **vats = array_reserve(replay->vats, &replay->vat_capacity,
                                             replay->vat_count + 1, sizeof *replay->vats);
    struct replay_vat *vat;

    if (vats == NULL) {
        error_memory(error, "the vats");
        return NULL;
    }
    replay->vats = vats;
    vat = replay_vat_new(id, &replay->host, error);
    if (vat != NULL)
        vats[replay->vat_count++] = vat;
    return vat;
}

static bool is_wanted(const struct replay *replay, const struct transcript_step *step)
{
    const struct replay_options *options = &replay->options;

    if (options->vat_count == 0)
        return true;
    for (size_t i = 0; i < options->vat_count; i++)
        if (scan_is(step->vat_id, options->vats[i]) ||
            (step->kind == TRANSCRIPT_CREATE && scan_is(step->name, options->vats[i])))
            return true;
    return false;
}

static bool is_asked_for(const struct replay_vat *vat, const char *name)
{
    return strcmp(vat->id, name) == 0 || strcmp(vat->name, name) == 0;
}

/* Each --vat has to be one, or what was to be checked was not. */
static int check_vats(const struct replay *replay, const char *file, struct error *error)
{
    for (size_t i = 0; i < replay->options.vat_count; i++) {
        const char *name = replay->options.vats[i];
        bool found = false;

        for (size_t j = 0; j < replay->vat_count; j++)
            found = found || is_asked_for(replay->vats[j], name);
        if (!found)
            return error_set(error, ERROR_USAGE, "--vat %s: there is no such vat in %s", name,
                             file);
    }
    if (replay->vat_count == 0)
        return error_set(error, ERROR_INPUT, "%s: there is no vat in it", file);
    return 0;
}

/* ---- steps ---- */

static void show_progress(struct replay *replay)
{
    uint64_t now = uv_hrtime();

    if (now - replay->shown < PROGRESS_NANOSECONDS || replay->part > 0)
        return;
    replay->shown = now;
    log_line("%" PRId64 " deliveries, %zu vats, %.0f s", replay->deliveries, replay->vat_count,
             (double)(now - replay->began) / 1e9);
}

/*
 * Whether the instructions that the session recorded can be compared with ours;
 * where they cannot, it is said.
 */
static void begin_session(struct replay *replay, const struct transcript_step *step)
{
    const char *name = transcript_name(replay->transcript);
    struct scan_span recorded = scan_string(step->json);

    replay->host.compare_instructions =
        replay->options.counted && scan_is(recorded, replay->fingerprint.hash);
    if (recorded.at == NULL || replay->host.compare_instructions || replay->part > 0)
        return;
    if (!replay->options.counted)
        log_line("%s:%" PRIu64 ": its instructions are not compared without --counter qemu", name,
                 step->line);
    else
        log_line("%s:%" PRIu64 ": its instructions are not compared: it was recorded with another "
                 "worker, QEMU, C library or limit (fingerprint %.*s, here %s)",
                 name, step->line, (int)(recorded.length < 64 ? recorded.length : 64), recorded.at,
                 replay->fingerprint.hash);
}

static int take_step(struct replay *replay, const struct transcript_step *step, struct error *error)
{
    size_t index;
    struct replay_vat *vat = find_vat(replay, step->vat_id, &index);

    replay->line = step->line;
    if (step->kind == TRANSCRIPT_SESSION) {
        begin_session(replay, step);
        return 0;
    }
    if (vat != NULL && takes_over(step, vat)) {
        replay_vat_close(vat);
        vat = NULL;
    }
    if (vat == NULL && !is_wanted(replay, step))
        return 0;
    if (vat == NULL) {
        index = replay->vat_count;
        vat = add_vat(replay, step->vat_id, error);
    }
    if (vat == NULL)
        return -1;
    if (step->kind != TRANSCRIPT_DELIVER)
        return replay_vat_take(vat, step, error);
    if (index % replay->options.jobs != replay->part && replay->options.store == NULL)
        return 0;
    replay->deliveries++;
    show_progress(replay);
    return replay_vat_deliver(vat, step, error);
}

static int take_steps(struct replay *replay, struct error *error)
{
    struct transcript_step step;
    int result;

    while ((result = transcript_next(replay->transcript, &step, error)) == 1)
        if (take_step(replay, &step, error) != 0)
            return -1;
    if (result == 0 && transcript_is_torn(replay->transcript) && replay->part == 0)
        log_line("%s ends in the midst of a line; what is before it was replayed",
                 transcript_name(replay->transcript));
    return result;
}

/* ---- the command ---- */

static int open_transcript(struct replay *replay, struct error *error)
{
    const struct replay_options *options = &replay->options;

    if (options->store == NULL) {
        replay->transcript = transcript_open(options->transcript, error);
    } else if (stored_source_open(&replay->source, options->store, options->stored_vat,
                                  options->from_start, error) == 0) {
        replay->transcript =
            transcript_open_stored(replay->source.transcript, replay->source.name.data, error);
    }
    return replay->transcript == NULL ? -1 : 0;
}

static int open_all(struct replay *replay, struct error *error)
{
    const struct replay_options *options = &replay->options;

    if (confinement_open(&replay->confinement, options->sandbox, error) != 0 ||
        launcher_open(&replay->launcher, options->counted, options->compute_limit, error) != 0)
        return -1;
    replay->launcher.confinement = &replay->confinement;
    replay->launcher.instruction_limit = options->instruction_limit;
    if (options->counted &&
        fingerprint_take_launcher(&replay->fingerprint, &replay->launcher, error) != 0)
        return -1;
    if (replay_bundles_read(&replay->bundles, options->bundles, options->bundle_count, error) !=
            0 ||
        open_transcript(replay, error) != 0)
        return -1;
    replay->host = (struct replay_host){
        .loop = &replay->loop,
        .launcher = &replay->launcher,
        .runtimes = &replay->runtimes,
        .warm = &replay->warm,
        .bundles = &replay->bundles,
        .transcript = replay->transcript,
        .store = replay->source.store,
        .fingerprint = options->counted && !options->from_start ? replay->fingerprint.hash : NULL,
        .timeout_ms = options->timeout_ms,
    };
    return 0;
}

static int exit_status(const struct replay *replay)
{
    bool replayed = false;

    for (size_t i = 0; i < replay->vat_count; i++) {
        if (replay->vats[i]->state == REPLAY_DIFFERS)
            return ERROR_DELIVERY;
        replayed = replayed || replay->vats[i]->deliveries > 0;
    }
    /* Nothing was compared: that must not look like a check that was passed. */
    return replayed ? 0 : ERROR_INPUT;
}

static void close_all(void *context)
{
    struct replay *replay = context;

    for (size_t i = 0; i < replay->vat_count; i++)
        replay_vat_free(replay->vats[i]);
    free(replay->vats);
    transcript_close(replay->transcript);
    stored_source_close(&replay->source);
    replay_bundles_free(&replay->bundles);
    vat_runtimes_free(&replay->runtimes);
    warm_starts_free(&replay->warm);
    fingerprint_free(&replay->fingerprint);
    launcher_close(&replay->launcher);
    if (replay->began == 0)
        return;                                  /* there is no loop */
    (void)uv_run(&replay->loop, UV_RUN_DEFAULT); /* to the end of what is closing */
    (void)uv_loop_close(&replay->loop);          /* nothing is open on it any more */
}

/* Replays the vats of this process. */
static int replay_vats(struct replay *replay, struct error *error)
{
    int status = uv_loop_init(&replay->loop);

    if (status != 0) {
        error_set(error, ERROR_SYSTEM, "cannot start the event loop: %s", uv_strerror(status));
        return -1;
    }
    replay->began = replay->shown = uv_hrtime();
    if (open_all(replay, error) != 0)
        return -1;
    return take_steps(replay, error);
}

/* What all came to; the exit status. */
static int judge(const struct replay *replay, const char *file, struct error *error)
{
    if (check_vats(replay, file, error) != 0 ||
        replay_output(replay->vats, replay->vat_count, file, replay->options.json, error) != 0)
        return -1;
    return exit_status(replay);
}

static int replay_all(struct replay *replay, struct error *error)
{
    int status = replay_vats(replay, error);

    if (status == 0)
        status = judge(replay, transcript_name(replay->transcript), error);
    close_all(replay);
    return status;
}

/* ---- in several processes ---- */

static int replay_part(void *context, size_t number, struct replay_part *part, struct error *error)
{
    struct replay *replay = context;
    int result;

    replay->part = number;
    result = replay_vats(replay, error);
    *part = (struct replay_part){
        .vats = replay->vats, .vat_count = replay->vat_count, .line = replay->line};
    return result;
}

static int replay_jobs(struct replay *replay, struct error *error)
{
    const struct replay_parts parts = {
        .context = replay,
        .count = replay->options.jobs,
        .replay = replay_part,
        .close = close_all,
    };
    struct replay_part all;
    int status = replay_in_parts(&parts, &all, error);

    replay->vats = all.vats;
    replay->vat_count = all.vat_count;
    if (status == 0)
        status = judge(replay, replay->options.transcript, error);
    replay_part_free(&all);
    return status;
}

static int do_as_asked(struct replay *replay, struct error *error)
{
    const struct replay_options *options = &replay->options;

    if (options->export != NULL)
        return stored_source_export(options->store, options->stored_vat, options->export, error);
    if (options->store == NULL && recording_file_is_one(options->transcript))
        return replay_recording(options, error);
    /* Of a store it is one vat. */
    return options->jobs > 1 && options->store == NULL ? replay_jobs(replay, error)
                                                       : replay_all(replay, error);
}

int replay_command(int argc, char **argv)
{
    struct replay replay = {.launcher = {.program_fd = -1}};
    struct error error;
    int status = replay_options_parse(&replay.options, argc, argv, &error);

    if (status != 0) {
        log_line("replay: %s (see gaspipe replay --help)", error.text);
        status = (int)error.kind;
    } else if (replay.options.help) {
        fputs(replay_options_help, stdout);
    } else {
        status = do_as_asked(&replay, &error);
        if (status < 0) {
            log_line("%s", error.text);
            status = (int)error.kind;
        }
    }
    replay_options_free(&replay.options);
    return status;
}
