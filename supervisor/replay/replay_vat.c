/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_vat.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "slog/model/describe.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/replay/replay_upgrade.h"

struct replay_vat *replay_vat_new(struct scan_span id, const struct replay_host *host,
                                  struct error *error)
{
    struct replay_vat *vat = calloc(1, sizeof *vat);

    if (vat != NULL)
        vat->snapshot_fd = -1;
    if (vat == NULL || (vat->id = strndup(id.at, id.length)) == NULL ||
        (vat->name = strdup("")) == NULL) {
        replay_vat_free(vat);
        error_memory(error, "a vat");
        return NULL;
    }
    vat->worker.host = host;
    return vat;
}

void replay_vat_take_over(struct replay_vat *vat, const struct replay_vat *other)
{
    vat->state = other->state;
    memcpy(vat->why, other->why, sizeof vat->why);
    vat->difference.aspect = other->difference.aspect;
    vat->difference.line = other->difference.line;
    vat->difference.delivery_num = other->difference.delivery_num;
    vat->difference.syscall_num = other->difference.syscall_num;
    vat->delivery_num = other->delivery_num;
    vat->deliveries = other->deliveries;
    vat->syscalls = other->syscalls;
    vat->computed = other->computed;
    vat->computrons = other->computrons;
    vat->counted = other->counted;
    vat->instructions = other->instructions;
    vat->snapshots = other->snapshots;
    vat->cut = other->cut;
}

struct replay_owner replay_vat_owner(const struct replay_vat *vat)
{
    return (struct replay_owner){.id = vat->id, .name = vat->name, .bundle = &vat->bundle};
}

void replay_vat_close(struct replay_vat *vat)
{
    replay_worker_end(&vat->worker);
    if (vat->state != REPLAY_SKIPPED && vat->state != REPLAY_DIFFERS)
        vat->state = REPLAY_OVER;
}

void replay_vat_free(struct replay_vat *vat)
{
    if (vat == NULL)
        return;
    replay_worker_end(&vat->worker);
    buf_free(&vat->bundle);
    buf_free(&vat->upgrade);
    buf_free(&vat->before);
    if (vat->snapshot_fd >= 0)
        close(vat->snapshot_fd);
    buf_free(&vat->snapshot_hash);
    buf_free(&vat->description);
    buf_free(&vat->difference.recorded);
    buf_free(&vat->difference.replayed);
    free(vat->id);
    free(vat->name);
    free(vat);
}

int replay_vat_skip(struct replay_vat *vat, const char *format, ...)
{
    va_list args;

    replay_worker_end(&vat->worker);
    vat->state = REPLAY_SKIPPED;
    va_start(args, format);
    vsnprintf(vat->why, sizeof vat->why, format, args);
    va_end(args);
    return 0;
}

/* ---- between deliveries ---- */

static int keep_name(struct replay_vat *vat, struct scan_span name, struct error *error)
{
    struct buf text = {0};

    if (name.at == NULL)
        return 0;
    describe_string(name, &text);
    free(vat->name);
    vat->name = buf_string(&text) != NULL ? text.data : NULL;
    return vat->name != NULL ? 0 : error_memory(error, "a vat's name");
}

int replay_vat_keep_bundle(struct replay_vat *vat, struct scan_span bundle, struct error *error)
{
    buf_clear(&vat->bundle);
    buf_append(&vat->bundle, bundle.at, bundle.length);
    /* The zeros terminate it, too. */
    if (buf_reserve(&vat->bundle, SCAN_PADDING) != 0 || buf_failed(&vat->bundle))
        return error_memory(error, "a bundle");
    memset(vat->bundle.data + bundle.length, 0, SCAN_PADDING);
    return 0;
}

int replay_vat_start_afresh(struct replay_vat *vat)
{
    replay_worker_end(&vat->worker);
    vat->state = REPLAY_FRESH;
    return 0;
}

static int take_create(struct replay_vat *vat, const struct transcript_step *step,
                       struct error *error)
{
    struct scan_span manager = step->manager_type;

    if (keep_name(vat, step->name, error) != 0)
        return -1;
    if (step->json.at != NULL) {
        buf_clear(&vat->upgrade); /* it is this one */
        if (replay_vat_keep_bundle(vat, step->json, error) != 0)
            return -1;
    }
    if (manager.at != NULL && !scan_is(manager, "xsnap") && !scan_is(manager, "xs-worker"))
        return replay_vat_skip(vat, "it ran in no worker process, but under the manager \"%.*s\"",
                               (int)(manager.length < 64 ? manager.length : 64), manager.at);
    return replay_vat_start_afresh(vat);
}

int replay_vat_differ(struct replay_vat *vat, enum replay_aspect aspect,
                      const struct transcript_step *step, struct scan_span recorded,
                      struct scan_span replayed, struct error *error)
{
    struct replay_difference *difference = &vat->difference;

    replay_worker_end(&vat->worker);
    vat->state = REPLAY_DIFFERS;
    difference->aspect = aspect;
    difference->line = step->line;
    difference->delivery_num = step->delivery_num;
    difference->syscall_num = step->syscall_num;
    if (recorded.at != NULL)
        buf_append(&difference->recorded, recorded.at, recorded.length);
    if (replayed.at != NULL)
        buf_append(&difference->replayed, replayed.at, replayed.length);
    if (buf_failed(&difference->recorded) || buf_failed(&difference->replayed))
        return error_memory(error, "a difference");
    return 0;
}

/* ---- snapshots ---- */

/* An empty file in memory, in place of the last snapshot. */
static int open_snapshot(struct replay_vat *vat, struct error *error)
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

/* A hash as the file tells it; transcripts of other engines may name snapshots otherwise. */
static bool is_sha256(struct scan_span hash)
{
    return hash.length == FINGERPRINT_HEX_SIZE - 1;
}

static int compare_snapshot(struct replay_vat *vat, const struct transcript_step *step,
                            struct error *error)
{
    struct transcript_step place = *step;
    char path[32], hash[FINGERPRINT_HEX_SIZE];

    if (!is_sha256(step->hash))
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", vat->snapshot_fd);
    if (fingerprint_hash(path, hash, error) != 0)
        return -1;
    place.delivery_num = vat->delivery_num;
    if (!scan_is(step->hash, hash))
        return replay_vat_differ(vat, REPLAY_SNAPSHOT, &place, step->hash,
                                 (struct scan_span){hash, strlen(hash)}, error);
    vat->snapshots++;
    return 0;
}

static int take_saved(struct replay_vat *vat, const struct transcript_step *step,
                      struct error *error)
{
    const struct replay_owner owner = replay_vat_owner(vat);

    if (vat->state == REPLAY_STORED) /* once more, with nothing delivered between */
        return keep_hash(vat, step->hash, error);
    if (vat->state != REPLAY_LIVE)
        return 0;
    if (open_snapshot(vat, error) != 0 ||
        replay_worker_save(&vat->worker, &owner, vat->snapshot_fd, error) != 0 ||
        keep_hash(vat, step->hash, error) != 0)
        return -1;
    return compare_snapshot(vat, step, error);
}

/* One that the store has; every other has to have been made here before. */
static int fetch_snapshot(struct replay_vat *vat, struct scan_span hash, struct error *error)
{
    char text[STORE_HASH_SIZE];

    if (!is_sha256(hash))
        return 0;
    memcpy(text, hash.at, hash.length);
    text[hash.length] = '\0';
    if (open_snapshot(vat, error) != 0 || keep_hash(vat, hash, error) != 0)
        return -1;
    return store_snapshot_read(vat->worker.host->store, text, vat->snapshot_fd, error);
}

static int take_loaded(struct replay_vat *vat, const struct transcript_step *step,
                       struct error *error)
{
    const struct buf *hash = &vat->snapshot_hash;

    if (vat->state == REPLAY_SKIPPED)
        return 0;
    if (vat->worker.host->store != NULL && fetch_snapshot(vat, step->hash, error) != 0)
        return -1;
    if (step->hash.at == NULL || step->hash.length != hash->length || vat->snapshot_fd < 0 ||
        memcmp(step->hash.at, hash->data, hash->length) != 0)
        return replay_vat_skip(vat, "the file does not hold the snapshot that its worker was "
                                    "started from, nor how that came to be");
    replay_worker_end(&vat->worker);
    vat->state = REPLAY_STORED;
    return 0;
}

/* A start behind the loading of a snapshot is that one's. */
static int take_start(struct replay_vat *vat)
{
    if (vat->state == REPLAY_SKIPPED || vat->state == REPLAY_STORED)
        return 0;
    return replay_vat_start_afresh(vat);
}

int replay_vat_take(struct replay_vat *vat, const struct transcript_step *step, struct error *error)
{
    if (vat->state == REPLAY_DIFFERS)
        return 0;
    switch (step->kind) {
    case TRANSCRIPT_CREATE:
        return take_create(vat, step, error);
    case TRANSCRIPT_UPGRADE:
        return replay_upgrade_note(vat, step->bundle_id, error);
    case TRANSCRIPT_START:
        return take_start(vat);
    case TRANSCRIPT_SNAPSHOT_SAVED:
        return take_saved(vat, step, error);
    case TRANSCRIPT_SNAPSHOT_LOADED:
        return take_loaded(vat, step, error);
    case TRANSCRIPT_TERMINATE:
        replay_vat_close(vat);
        return 0;
    default:
        return 0; /* of a delivery that is not replayed */
    }
}
