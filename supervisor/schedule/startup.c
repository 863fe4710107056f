/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/startup.h"

#include <stdlib.h>

#include "base/array.h"

void startup_free(struct startup *startup)
{
    free(startup->vats);
}

bool startup_is_over(const struct startup *startup)
{
    return startup->all_started && startup->starting == 0;
}

/* ---- the order of the slog ---- */

/* The lines of all but the first vat that is starting are deferred. */
static int note_started(struct startup *startup, int64_t vat, struct error *error)
{
    struct startup_vat *vats =
        array_reserve(startup->vats, &startup->capacity, startup->count + 1, sizeof *vats);

    if (vats == NULL)
        return error_memory(error, "a vat");
    startup->vats = vats;
    vats[startup->count++] = (struct startup_vat){.vat = vat};
    if (startup->count - 1 == startup->logged)
        return 0;
    return warehouse_log_defer(startup->crank->warehouse, vat, error);
}

static struct startup_vat *find_started(struct startup *startup, int64_t vat)
{
    size_t i = startup->logged;

    while (startup->vats[i].vat != vat)
        i++;
    return &startup->vats[i];
}

unsigned startup_failed(struct startup *startup, int64_t vat)
{
    return ++find_started(startup, vat)->failures;
}

static int note_arrived(struct startup *startup, int64_t vat, struct error *error)
{
    struct startup_vat *vats = startup->vats;

    find_started(startup, vat)->arrived = true;
    while (startup->logged < startup->count && vats[startup->logged].arrived) {
        if (++startup->logged < startup->count &&
            warehouse_log_join(startup->crank->warehouse, vats[startup->logged].vat, error) != 0)
            return -1;
    }
    return 0;
}

/* ---- starting ---- */

/*
 * With few workers, one that would only wait is not started. A vat whose snapshot is due is:
 * the store must hold the snapshot at the same place as with many workers.
 */
static bool must_start(const struct startup *startup, const struct kernel_vat *vat)
{
    return !startup->few_workers ||
           policy_snapshot_due(startup->snapshots,
                               warehouse_saved_at(startup->crank->warehouse, vat->id),
                               vat->deliveries);
}

/* Operators' work on a vat needs no worker, which may not start at all. */
static int start_vat(struct startup *startup, const struct kernel_vat *vat, struct error *error)
{
    bool operated;

    if (active_crank_register(startup->crank, vat, error) != 0 ||
        kernel_vat_is_operated(startup->crank->kernel, vat->id, &operated, error) != 0)
        return -1;
    if (operated || !must_start(startup, vat))
        return 0;
    if (note_started(startup, vat->id, error) != 0)
        return -1;
    startup->starting++;
    warehouse_start(startup->crank->warehouse, vat->id);
    return 0;
}

static int start_next(struct startup *startup, struct error *error)
{
    struct kernel *kernel = startup->crank->kernel;
    struct kernel_vat vat;
    bool found = false, lives = false;
    int result;

    if (kernel_vat_next(kernel, startup->last, &startup->last, &found, error) != 0)
        return -1;
    startup->all_started = !found;
    if (!found)
        return 0;
    if (kernel_vat_get(kernel, startup->last, &vat, &lives, error) != 0)
        return -1;
    if (!lives)
        return 0;
    result = vat.damage == NULL ? start_vat(startup, &vat, error) : 0;
    kernel_vat_free(&vat);
    return result;
}

int startup_go(struct startup *startup, struct error *error)
{
    while (!startup->all_started && (startup->at_once == 0 || startup->starting < startup->at_once))
        if (start_next(startup, error) != 0)
            return -1;
    return 0;
}

int startup_arrived(struct startup *startup, int64_t vat, struct error *error)
{
    startup->starting--;
    if (note_arrived(startup, vat, error) != 0)
        return -1;
    return startup_go(startup, error);
}
