/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_vat.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "slog/model/describe.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/replay/replay_bundle.h"
#include "supervisor/replay/source/source.h"

enum { RUNTIME_SIZE_MAX = 32 << 20 };

int replay_load_runtime(struct replay_runtime *runtime, const struct replay_options *options,
                        struct error *error)
{
    struct buf lockdown = {0}, supervisor = {0};
    int result = -1;

    if (options->lockdown == NULL)
        return 0;
    runtime->is_given = true;
    if (io_read_file(options->lockdown, RUNTIME_SIZE_MAX, &lockdown, error) == 0 &&
        io_read_file(options->supervisor, RUNTIME_SIZE_MAX, &supervisor, error) == 0)
        result = vat_runtimes_set(&runtime->runtimes, options->supervisor, &lockdown, &supervisor,
                                  error);
    buf_free(&lockdown);
    buf_free(&supervisor);
    return result;
}

struct replay_vat *replay_vat_new(struct scan_span id, const struct replay_context *context,
                                  struct error *error)
{
    struct replay_vat *vat = calloc(1, sizeof *vat);

    if (vat != NULL)
        vat->snapshot_fd = -1;
    if (vat == NULL || (vat->result.id = strndup(id.at, id.length)) == NULL ||
        (vat->result.name = strdup("")) == NULL || (vat->known_reads = json_object()) == NULL) {
        replay_vat_free(vat);
        error_memory(error, "a vat");
        return NULL;
    }
    vat->context = context;
    vat->worker.host = &context->host;
    return vat;
}

struct replay_owner replay_vat_owner(const struct replay_vat *vat)
{
    return (struct replay_owner){
        .id = vat->result.id, .name = vat->result.name, .bundle = &vat->bundle.json};
}

void replay_vat_close(struct replay_vat *vat)
{
    replay_worker_end(&vat->worker);
    vat->state = REPLAY_OVER;
}

void replay_vat_free(struct replay_vat *vat)
{
    if (vat == NULL)
        return;
    replay_vat_free(vat->against);
    if (vat->made != NULL)
        recorded_delivery_free(vat->made);
    free(vat->made);
    replay_worker_end(&vat->worker);
    replay_bundle_free(&vat->bundle);
    if (vat->snapshot_fd >= 0)
        close(vat->snapshot_fd);
    buf_free(&vat->snapshot_hash);
    replay_result_free(&vat->result);
    json_decref(vat->known_reads);
    free(vat);
}

int replay_vat_skip(struct replay_vat *vat, const char *format, ...)
{
    va_list args;

    replay_vat_close(vat);
    vat->result.status = REPLAY_SKIPPED;
    va_start(args, format);
    vsnprintf(vat->result.why, sizeof vat->result.why, format, args);
    va_end(args);
    return 0;
}

int replay_vat_differ(struct replay_vat *vat, struct error *error)
{
    const struct difference *difference = &vat->result.difference;

    replay_vat_close(vat);
    vat->result.status = REPLAY_DIFFERS;
    vat->result.file = strdup(vat->context->source->name);
    if (vat->result.file == NULL || buf_failed(&difference->recorded) ||
        buf_failed(&difference->replayed))
        return error_memory(error, "a difference");
    return 0;
}

void replay_vat_start_afresh(struct replay_vat *vat)
{
    replay_worker_end(&vat->worker);
    vat->state = REPLAY_FRESH;
}

void replay_vat_pass(struct replay_vat *vat)
{
    if (vat->state == REPLAY_OVER)
        return;
    replay_worker_end(&vat->worker);
    vat->state = REPLAY_PASSED;
}

int replay_vat_lose(struct replay_vat *vat)
{
    return replay_vat_skip(vat, "the file does not hold the snapshot that its worker was started "
                                "from, nor how that came to be");
}

/* ---- its bundle ---- */

static int keep_vat_name(struct replay_vat *vat, struct scan_span name, struct error *error)
{
    struct buf text = {0};

    if (name.at == NULL)
        return 0;
    describe_string(name, &text);
    free(vat->result.name);
    vat->result.name = buf_string(&text) != NULL ? text.data : NULL;
    return vat->result.name != NULL ? 0 : error_memory(error, "a vat's name");
}

/* A bundle out of the user's files, where the source has none that is whole. */
static const struct buf *find_given(const struct replay_vat *vat, struct scan_span json,
                                    struct scan_span id)
{
    const struct replay_bundles *bundles = &vat->context->bundles;
    struct scan_span hash = scan_string(scan_get(json, "endoZipBase64Sha512"));
    char named[160];

    if (id.at == NULL && hash.at != NULL && hash.length < sizeof named - 3) {
        snprintf(named, sizeof named, "b1-%.*s", (int)hash.length, hash.at);
        id = (struct scan_span){named, strlen(named)};
    }
    if (id.at != NULL && replay_bundles_find(bundles, id) != NULL)
        return replay_bundles_find(bundles, id);
    return replay_bundles_find_vat(bundles, vat->result.id, vat->result.name);
}

/* Takes the bundle of a create-vat line, or another that stands in for it. */
static int take_vat_bundle(struct replay_vat *vat, const struct source_event *event,
                           struct error *error)
{
    bool whole =
        event->bundle.at != NULL && bundle_check(event->bundle, vat->missing, sizeof vat->missing);
    const struct buf *given = whole ? NULL : find_given(vat, event->bundle, event->bundle_id);

    if (given != NULL) {
        vat->missing[0] = '\0';
        return replay_bundle_set(&vat->bundle, (struct scan_span){given->data, given->length},
                                 error);
    }
    if (whole)
        return replay_bundle_set(&vat->bundle, event->bundle, error);
    if (event->bundle.at != NULL)
        buf_free(&vat->bundle.json);
    return 0;
}

static int take_vat_creation(struct replay_vat *vat, const struct source_event *event,
                             struct error *error)
{
    struct scan_span manager = event->manager_type;

    if (keep_vat_name(vat, event->name, error) != 0 || take_vat_bundle(vat, event, error) != 0)
        return -1;
    if (manager.at != NULL && !scan_is(manager, "xsnap") && !scan_is(manager, "xs-worker"))
        return replay_vat_skip(vat, "it ran under the manager \"%.*s\"",
                               (int)(manager.length < 64 ? manager.length : 64), manager.at);
    replay_vat_start_afresh(vat);
    return 0;
}

/* Appends the bundle of this ID out of the source or the user's files. */
static int fetch_bundle(const struct replay_vat *vat, struct scan_span id, struct buf *bundle,
                        bool *found, struct error *error)
{
    struct replay_source *source = vat->context->source;
    const struct buf *given = replay_bundles_find(&vat->context->bundles, id);

    *found = given != NULL;
    if (*found)
        return buf_append(bundle, given->data, given->length) == 0
                   ? 0
                   : error_memory(error, "a bundle");
    if (source->operations->read_bundle == NULL)
        return 0;
    return source->operations->read_bundle(source, id, bundle, found, error);
}

/* Finds the vat's bundle by this ID; notes why if it is missing. */
static int use_bundle(struct replay_vat *vat, struct scan_span id, struct error *error)
{
    struct buf bundle = {0};
    bool found;
    int result = fetch_bundle(vat, id, &bundle, &found, error);

    if (result == 0 && found) {
        vat->missing[0] = '\0';
        result =
            replay_bundle_set(&vat->bundle, (struct scan_span){bundle.data, bundle.length}, error);
    } else if (result == 0) {
        buf_free(&vat->bundle.json);
        snprintf(vat->missing, sizeof vat->missing,
                 "its bundle is missing; give it with --bundle: %.*s",
                 (int)(id.length < 140 ? id.length : 140), id.at);
    }
    buf_free(&bundle);
    return result;
}

/* Two bundles' IDs out of ["b0-LOCKDOWN","b0-SUPERVISOR"]. */
static bool split_ids(struct scan_span ids, struct scan_span *lockdown,
                      struct scan_span *supervisor)
{
    struct scan_cursor cursor;

    if (!scan_open(ids, '[', &cursor) || scan_element(&cursor, lockdown) != SCAN_FOUND ||
        scan_element(&cursor, supervisor) != SCAN_FOUND)
        return false;
    *lockdown = scan_string(*lockdown);
    *supervisor = scan_string(*supervisor);
    return lockdown->at != NULL && supervisor->at != NULL;
}

/* Loads the runtime that the recorded worker had, where it is there and not loaded yet. */
static int use_runtime(struct replay_vat *vat, struct scan_span ids, struct error *error)
{
    struct replay_runtime *runtime = vat->context->runtime;
    struct buf lockdown = {0}, supervisor = {0};
    struct scan_span lockdown_id, supervisor_id;
    bool has_lockdown, has_supervisor;
    int result = 0;

    if (runtime->is_given || !split_ids(ids, &lockdown_id, &supervisor_id) ||
        (runtime->ids.length == ids.length && memcmp(runtime->ids.data, ids.at, ids.length) == 0))
        return 0;
    if (fetch_bundle(vat, lockdown_id, &lockdown, &has_lockdown, error) != 0 ||
        fetch_bundle(vat, supervisor_id, &supervisor, &has_supervisor, error) != 0) {
        result = -1;
    } else if (has_lockdown && has_supervisor) {
        runtime_snapshots_free(&runtime->warm);
        buf_clear(&runtime->ids);
        buf_append(&runtime->ids, ids.at, ids.length);
        result = vat_runtimes_set(&runtime->runtimes, vat->context->source->name, &lockdown,
                                  &supervisor, error);
    }
    buf_free(&lockdown);
    buf_free(&supervisor);
    return result;
}

static int take_worker_start(struct replay_vat *vat, const struct source_event *event,
                             struct error *error)
{
    /* The start after a snapshot was loaded belongs to that. */
    if (vat->result.status == REPLAY_SKIPPED || vat->state == REPLAY_STORED ||
        vat->state == REPLAY_LOST)
        return 0;
    replay_vat_start_afresh(vat);
    if (event->bundle_id.at != NULL && use_bundle(vat, event->bundle_id, error) != 0)
        return -1;
    return use_runtime(vat, event->runtime_ids, error);
}

int replay_vat_upgrade(struct replay_vat *vat, struct error *error)
{
    const struct buf *upgrade = &vat->bundle.upgrade, *given;
    struct scan_span id = {upgrade->data, upgrade->length};

    if (replay_bundle_is_outdated(&vat->bundle)) {
        given = replay_bundles_find(&vat->context->bundles, id);
        if (given == NULL)
            return replay_vat_skip(vat,
                                   "it was upgraded to a bundle that the file does not hold; give "
                                   "it with --bundle: %.*s",
                                   (int)(id.length < 140 ? id.length : 140), id.at);
        return replay_bundle_upgrade(&vat->bundle, (struct scan_span){given->data, given->length},
                                     error);
    }
    buf_clear(&vat->bundle.upgrade);
    return 0;
}

/* ---- snapshots ---- */

/* An empty file in memory, in place of the last snapshot. */
static int open_replay_snapshot(struct replay_vat *vat, struct error *error)
{
    if (vat->snapshot_fd >= 0)
        close(vat->snapshot_fd);
    vat->snapshot_fd = memfd_create("gaspipe-snapshot", MFD_CLOEXEC);
    if (vat->snapshot_fd < 0)
        return error_system(error, errno, "cannot make a file for a snapshot");
    return 0;
}

static int keep_hash(struct replay_vat *vat, struct scan_span hash, struct error *error)
{
    buf_clear(&vat->snapshot_hash);
    if (hash.at != NULL)
        buf_append(&vat->snapshot_hash, hash.at, hash.length);
    return buf_failed(&vat->snapshot_hash) ? error_memory(error, "a snapshot's hash") : 0;
}

/* Transcripts of other engines may name snapshots otherwise. */
static bool is_sha256(struct scan_span hash)
{
    return hash.length == FINGERPRINT_HEX_SIZE - 1;
}

static int compare_snapshot(struct replay_vat *vat, const struct source_event *event,
                            struct error *error)
{
    char path[32], hash[FINGERPRINT_HEX_SIZE];

    if (!is_sha256(event->hash))
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", vat->snapshot_fd);
    if (fingerprint_hash(path, hash, error) != 0)
        return -1;
    if (scan_is(event->hash, hash)) {
        vat->result.counts.snapshots++;
        return 0;
    }
    vat->result.difference.line = event->line;
    difference_set(&vat->result.difference, COMPARE_SNAPSHOT, event->hash,
                   (struct scan_span){hash, strlen(hash)});
    if ((vat->context->rules.tolerated & 1U << COMPARE_SNAPSHOT) == 0)
        return replay_vat_differ(vat, error);
    replay_note_tolerated(vat->context->notes, &vat->result, &vat->result.difference);
    return 0;
}

static int take_saved(struct replay_vat *vat, const struct source_event *event, struct error *error)
{
    const struct replay_owner owner = replay_vat_owner(vat);

    if (vat->state == REPLAY_STORED) /* once more, with nothing delivered between */
        return keep_hash(vat, event->hash, error);
    if (vat->state != REPLAY_LIVE)
        return 0;
    if (open_replay_snapshot(vat, error) != 0 ||
        replay_worker_save(&vat->worker, &owner, vat->snapshot_fd, error) != 0 ||
        keep_hash(vat, event->hash, error) != 0)
        return -1;
    return compare_snapshot(vat, event, error);
}

/* Returns true if it is the snapshot that was made or fetched here last. */
static bool is_kept(const struct replay_vat *vat, struct scan_span hash)
{
    const struct buf *kept = &vat->snapshot_hash;

    return vat->snapshot_fd >= 0 && hash.at != NULL && hash.length == kept->length &&
           memcmp(hash.at, kept->data, hash.length) == 0;
}

static int fetch_source_snapshot(struct replay_vat *vat, const struct source_event *event,
                                 bool *found, struct error *error)
{
    struct replay_source *source = vat->context->source;

    *found = is_kept(vat, event->hash);
    if (*found || !is_sha256(event->hash))
        return 0;
    if (open_replay_snapshot(vat, error) != 0 || keep_hash(vat, event->hash, error) != 0)
        return -1;
    if (source->operations->read_snapshot != NULL &&
        source->operations->read_snapshot(source, event, vat->snapshot_fd, found, error) != 0)
        return -1;
    if (*found || vat->context->snapshots == NULL)
        return 0;
    return snapshot_archive_copy(vat->context->snapshots, event, vat->snapshot_fd, found, error);
}

static int take_snapshot_loaded(struct replay_vat *vat, const struct source_event *event,
                                struct error *error)
{
    bool found;

    if (fetch_source_snapshot(vat, event, &found, error) != 0)
        return -1;
    if (!found && vat->state == REPLAY_FRESH)
        return replay_vat_lose(vat);
    replay_worker_end(&vat->worker);
    /* After all that is selected, it is not needed. */
    vat->state = found ? REPLAY_STORED : REPLAY_LOST;
    return 0;
}

/* ---- events ---- */

int replay_vat_take(struct replay_vat *vat, const struct source_event *event, struct error *error)
{
    if (vat->result.status == REPLAY_DIFFERS)
        return 0;
    switch (event->kind) {
    case SOURCE_CREATE:
        if (vat->result.status == REPLAY_SKIPPED)
            vat->result.status = REPLAY_SAME;
        return take_vat_creation(vat, event, error);
    case SOURCE_UPGRADE:
        return replay_bundle_note_upgrade(&vat->bundle, event->bundle_id, error);
    case SOURCE_START:
        return take_worker_start(vat, event, error);
    case SOURCE_SNAPSHOT_SAVED:
        return take_saved(vat, event, error);
    case SOURCE_SNAPSHOT_LOADED:
        return vat->result.status == REPLAY_SKIPPED ? 0 : take_snapshot_loaded(vat, event, error);
    case SOURCE_TERMINATE:
        replay_vat_close(vat);
        return 0;
    default:
        return 0;
    }
}
