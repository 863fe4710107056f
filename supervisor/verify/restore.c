/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/verify/restore.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/common_options.h"
#include "supervisor/replay/replay_worker.h"
#include "supervisor/runtime/heap_file.h"

int restore_open(struct restore *restore, struct error *error)
{
    if (restore->open)
        return 0;
    restore->open = true;
    if (uv_loop_init(&restore->loop) != 0)
        return error_memory(error, "an event loop");
    if (confinement_open(&restore->confinement, CONFINEMENT_BASIC, error) != 0 ||
        launcher_open(&restore->launcher, (struct counters){0}, 0, error) != 0)
        return -1;
    restore->launcher.confinement = &restore->confinement;
    return 0;
}

void restore_close(struct restore *restore)
{
    if (!restore->open)
        return;
    vat_runtimes_free(&restore->runtimes);
    launcher_close(&restore->launcher);
    confinement_close(&restore->confinement);
    (void)uv_run(&restore->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&restore->loop); /* nothing is open on it */
    restore->open = false;
}

/* Which of the workers takes it. */
static int choose_runtime(struct restore *restore, struct store *store,
                          const struct kernel_vat *vat, struct vat_runtime *runtime,
                          struct buf *bundle, struct error *error)
{
    bool found = false;

    if (store_bundle_get(store, vat->bundle_id, bundle, &found, error) != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_SYSTEM, "the store has no bundle %.200s", vat->bundle_id);
    if (buf_reserve(bundle, SCAN_PADDING) != 0)
        return error_memory(error, "a bundle");
    memset(bundle->data + bundle->length, 0, SCAN_PADDING);
    return vat_runtime_choose(&restore->runtimes, (struct scan_span){bundle->data, bundle->length},
                              runtime, error);
}

static int start_from(struct restore *restore, const struct kernel_vat *vat,
                      const struct vat_runtime *runtime, int heap, struct error *error)
{
    const struct replay_host host = {
        .loop = &restore->loop,
        .launcher = &restore->launcher,
        .runtimes = &restore->runtimes,
        .timeout_ms = COMMON_OPTIONS_TIMEOUT_MS,
    };
    struct replay_worker worker = {.host = &host, .runtime = *runtime};
    char id[32];
    const struct replay_owner owner = {.id = id, .name = vat->name};
    int result;

    snprintf(id, sizeof id, "v%" PRId64, vat->id);
    result = replay_worker_restore(&worker, &owner, heap, error);
    replay_worker_end(&worker);
    return result;
}

static int restore_from(struct restore *restore, struct store *store, const struct kernel_vat *vat,
                        const char *hash, struct error *error)
{
    struct vat_runtime runtime;
    struct buf bundle = {0};
    int heap = -1, result = choose_runtime(restore, store, vat, &runtime, &bundle, error);

    if (result == 0)
        result = (heap = heap_file_new(error)) >= 0 ? 0 : -1;
    if (result == 0)
        result = store_snapshot_read(store, hash, heap, error);
    if (result == 0)
        result = start_from(restore, vat, &runtime, heap, error);
    if (heap >= 0)
        close(heap);
    buf_free(&bundle);
    return result;
}

int restore_vat(struct restore *restore, struct store *store, const struct kernel_vat *vat,
                bool *found, struct error *error)
{
    struct store_snapshot snapshot;
    int64_t position;
    int result =
        store_snapshot_last(store, vat->id, vat->incarnation, &position, &snapshot, found, error);

    if (result == 0 && !*found)
        return 0;
    if (result == 0 && restore_open(restore, error) != 0)
        return -1;
    if (result == 0)
        result = restore_from(restore, store, vat, snapshot.hash, error);
    if (result != 0)
        error->kind = ERROR_DELIVERY;
    return result;
}
