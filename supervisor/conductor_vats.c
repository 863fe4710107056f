/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "supervisor/conductor_parts.h"

/* ---- snapshots ---- */

bool conductor_snapshot_is_due(const struct conductor *conductor, int64_t vat, int64_t end)
{
    const struct conductor_options *options = &conductor->options;
    const int64_t saved_at = warehouse_saved_at(conductor->warehouse, vat);
    const int64_t deliveries = end - (saved_at > 0 ? saved_at : 0);

    if (options->snapshot_interval == 0 || deliveries == 0)
        return false;
    return deliveries + 1 >= (int64_t)options->snapshot_interval ||
           (saved_at < 0 && deliveries + 1 >= (int64_t)options->snapshot_initial);
}

/* Its deliveries are numbered otherwise from here on. */
static int describe_anew(struct conductor *conductor, int64_t vat)
{
    struct kernel_vat described;
    struct error error;
    bool lives;
    int result = kernel_vat_get(conductor->kernel, vat, &described, &lives, &error);

    if (result == 0 && lives) {
        result = conductor_provide(conductor, &described, &error);
        kernel_vat_free(&described);
    }
    if (result != 0)
        conductor_fail(conductor, &error);
    return result;
}

/* The worker is on its way from the snapshot; before it is there nothing goes on. */
void conductor_on_saved(void *context, int64_t vat)
{
    (void)describe_anew(context, vat);
}

/* It was stopped before its snapshot was made. */
static bool save_when_due(struct conductor *conductor, int64_t vat)
{
    struct kernel_vat described;
    struct error error;
    bool lives, due;

    if (kernel_vat_get(conductor->kernel, vat, &described, &lives, &error) != 0) {
        conductor_fail(conductor, &error);
        return true;
    }
    due = lives && conductor_snapshot_is_due(conductor, vat, described.deliveries);
    if (lives)
        kernel_vat_free(&described);
    if (due)
        warehouse_save(conductor->warehouse, vat);
    return due;
}

void conductor_on_ready(void *context, int64_t vat)
{
    struct conductor *conductor = context;

    /* Also a worker that came back because it was lost when it was to save. */
    if ((conductor->coming > 0 || conductor->saving) && save_when_due(conductor, vat))
        return;
    if (conductor->coming > 0) {
        conductor->tries = 0;
        conductor_brought(conductor, vat);
    } else if (conductor->saving) {
        conductor->saving = false;
        if (conductor_commit_when_full(conductor) == 0)
            conductor_go(conductor);
    }
}

/* ---- the start ---- */

/*
 * Where there may be few workers, one that would only wait is not started. A snapshot that
 * the vat owes is made all the same: it stands in the store where it would have stood.
 */
static bool comes_at_start(const struct conductor *conductor, const struct kernel_vat *vat)
{
    return conductor->options.max_workers == 0 ||
           conductor_snapshot_is_due(conductor, vat->id, vat->deliveries);
}

/* In the slog what a vat's start comes to stands in one piece, and in the order of the vats. */
static int note_comer(struct conductor *conductor, int64_t vat, struct error *error)
{
    struct conductor_coming *comers = array_reserve(conductor->comers, &conductor->comer_capacity,
                                                    conductor->comer_count + 1, sizeof *comers);

    if (comers == NULL)
        return error_memory(error, "a vat");
    conductor->comers = comers;
    comers[conductor->comer_count++] = (struct conductor_coming){.vat = vat};
    if (conductor->comer_count - 1 == conductor->logged)
        return 0;
    return warehouse_log_aside(conductor->warehouse, vat, error);
}

static int log_brought(struct conductor *conductor, int64_t vat, struct error *error)
{
    struct conductor_coming *comers = conductor->comers;

    for (size_t i = conductor->logged; i < conductor->comer_count; i++)
        if (comers[i].vat == vat)
            comers[i].brought = true;
    while (conductor->logged < conductor->comer_count && comers[conductor->logged].brought) {
        if (++conductor->logged < conductor->comer_count &&
            warehouse_log_join(conductor->warehouse, comers[conductor->logged].vat, error) != 0)
            return -1;
    }
    return 0;
}

/* The next vat that lives is on its way, if it is to; *found is false when there is no more. */
static int bring_next(struct conductor *conductor, bool *found, struct error *error)
{
    struct kernel_vat vat;
    bool lives, comes;
    int result;

    if (kernel_vat_next(conductor->kernel, conductor->last_brought, &conductor->last_brought, found,
                        error) != 0)
        return -1;
    if (!*found)
        return 0;
    if (kernel_vat_get(conductor->kernel, conductor->last_brought, &vat, &lives, error) != 0)
        return -1;
    result = conductor_provide(conductor, &vat, error);
    comes = result == 0 && comes_at_start(conductor, &vat);
    kernel_vat_free(&vat);
    if (comes) {
        conductor->coming++;
        if (note_comer(conductor, conductor->last_brought, error) != 0)
            return -1;
        warehouse_bring(conductor->warehouse, conductor->last_brought);
    }
    return result;
}

/* Side by side; as many as there are jobs where there is a slog, of which a part is kept aside
 * then. */
static void bring_more(struct conductor *conductor)
{
    struct error error;

    while (!conductor->all_brought && !conductor->failed) {
        bool found = false;

        if (bring_next(conductor, &found, &error) != 0)
            conductor_fail(conductor, &error);
        conductor->all_brought = !found;
        if (conductor->options.slog != NULL && conductor->coming >= conductor->options.jobs)
            return;
    }
}

void conductor_brought(struct conductor *conductor, int64_t vat)
{
    struct error error;

    conductor->coming--;
    if (log_brought(conductor, vat, &error) != 0)
        conductor_fail(conductor, &error);
    bring_more(conductor);
    if (conductor->coming == 0 && conductor->all_brought)
        conductor_go(conductor);
}

void conductor_start(struct conductor *conductor)
{
    bring_more(conductor);
    if (conductor->coming == 0 && conductor->all_brought)
        conductor_go(conductor);
}
