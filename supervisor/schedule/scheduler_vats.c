/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "supervisor/schedule/scheduler_parts.h"

/* ---- snapshots ---- */

bool scheduler_snapshot_is_due(const struct scheduler *scheduler, int64_t vat, int64_t end)
{
    const struct scheduler_options *options = &scheduler->options;
    const int64_t saved_at = warehouse_saved_at(scheduler->warehouse, vat);
    const int64_t deliveries = end - (saved_at > 0 ? saved_at : 0);

    if (options->snapshot_interval == 0 || deliveries == 0)
        return false;
    return deliveries + 1 >= (int64_t)options->snapshot_interval ||
           (saved_at < 0 && deliveries + 1 >= (int64_t)options->snapshot_initial);
}

/* Its deliveries are numbered otherwise from here on. */
static int describe_anew(struct scheduler *scheduler, int64_t vat)
{
    struct kernel_vat described;
    struct error error;
    bool lives;
    int result = kernel_vat_get(scheduler->kernel, vat, &described, &lives, &error);

    if (result == 0 && lives) {
        result = scheduler_provide(scheduler, &described, &error);
        kernel_vat_free(&described);
    }
    if (result != 0)
        scheduler_fail(scheduler, &error);
    return result;
}

/* The worker is on its way from the snapshot; before it is there nothing goes on. */
void scheduler_on_saved(void *context, int64_t vat)
{
    (void)describe_anew(context, vat);
}

/* It was stopped before its snapshot was made. */
static bool save_when_due(struct scheduler *scheduler, int64_t vat)
{
    struct kernel_vat described;
    struct error error;
    bool lives, due;

    if (kernel_vat_get(scheduler->kernel, vat, &described, &lives, &error) != 0) {
        scheduler_fail(scheduler, &error);
        return true;
    }
    due = lives && scheduler_snapshot_is_due(scheduler, vat, described.deliveries);
    if (lives)
        kernel_vat_free(&described);
    if (due)
        warehouse_save(scheduler->warehouse, vat);
    return due;
}

void scheduler_on_ready(void *context, int64_t vat)
{
    struct scheduler *scheduler = context;

    /* Also a worker that came back because it was lost when it was to save. */
    if ((scheduler->coming > 0 || scheduler->saving) && save_when_due(scheduler, vat))
        return;
    if (scheduler->coming > 0) {
        scheduler->tries = 0;
        scheduler_brought(scheduler, vat);
    } else if (scheduler->saving) {
        scheduler->saving = false;
        if (scheduler_commit_when_full(scheduler) == 0)
            scheduler_go(scheduler);
    }
}

/* ---- the start ---- */

/*
 * Where there may be few workers, one that would only wait is not started. A snapshot that
 * the vat owes is made all the same: it stands in the store where it would have stood.
 */
static bool comes_at_start(const struct scheduler *scheduler, const struct kernel_vat *vat)
{
    return scheduler->options.max_workers == 0 ||
           scheduler_snapshot_is_due(scheduler, vat->id, vat->deliveries);
}

/* In the slog what a vat's start comes to stands in one piece, and in the order of the vats. */
static int note_comer(struct scheduler *scheduler, int64_t vat, struct error *error)
{
    struct scheduler_coming *comers = array_reserve(scheduler->comers, &scheduler->comer_capacity,
                                                    scheduler->comer_count + 1, sizeof *comers);

    if (comers == NULL)
        return error_memory(error, "a vat");
    scheduler->comers = comers;
    comers[scheduler->comer_count++] = (struct scheduler_coming){.vat = vat};
    if (scheduler->comer_count - 1 == scheduler->logged)
        return 0;
    return warehouse_log_aside(scheduler->warehouse, vat, error);
}

static int log_brought(struct scheduler *scheduler, int64_t vat, struct error *error)
{
    struct scheduler_coming *comers = scheduler->comers;

    for (size_t i = scheduler->logged; i < scheduler->comer_count; i++)
        if (comers[i].vat == vat)
            comers[i].brought = true;
    while (scheduler->logged < scheduler->comer_count && comers[scheduler->logged].brought) {
        if (++scheduler->logged < scheduler->comer_count &&
            warehouse_log_join(scheduler->warehouse, comers[scheduler->logged].vat, error) != 0)
            return -1;
    }
    return 0;
}

/* The next vat that lives is on its way, if it is to; *found is false when there is no more. */
static int bring_next(struct scheduler *scheduler, bool *found, struct error *error)
{
    struct kernel_vat vat;
    bool lives, comes;
    int result;

    if (kernel_vat_next(scheduler->kernel, scheduler->last_brought, &scheduler->last_brought, found,
                        error) != 0)
        return -1;
    if (!*found)
        return 0;
    if (kernel_vat_get(scheduler->kernel, scheduler->last_brought, &vat, &lives, error) != 0)
        return -1;
    result = scheduler_provide(scheduler, &vat, error);
    comes = result == 0 && comes_at_start(scheduler, &vat);
    kernel_vat_free(&vat);
    if (comes) {
        scheduler->coming++;
        if (note_comer(scheduler, scheduler->last_brought, error) != 0)
            return -1;
        warehouse_bring(scheduler->warehouse, scheduler->last_brought);
    }
    return result;
}

/* Side by side; as many as there are jobs where there is a slog, of which a part is kept aside
 * then. */
static void bring_more(struct scheduler *scheduler)
{
    struct error error;

    while (!scheduler->all_brought && !scheduler->failed) {
        bool found = false;

        if (bring_next(scheduler, &found, &error) != 0)
            scheduler_fail(scheduler, &error);
        scheduler->all_brought = !found;
        if (scheduler->options.slog != NULL && scheduler->coming >= scheduler->options.jobs)
            return;
    }
}

void scheduler_brought(struct scheduler *scheduler, int64_t vat)
{
    struct error error;

    scheduler->coming--;
    if (log_brought(scheduler, vat, &error) != 0)
        scheduler_fail(scheduler, &error);
    bring_more(scheduler);
    if (scheduler->coming == 0 && scheduler->all_brought)
        scheduler_go(scheduler);
}

void scheduler_start(struct scheduler *scheduler)
{
    bring_more(scheduler);
    if (scheduler->coming == 0 && scheduler->all_brought)
        scheduler_go(scheduler);
}
