/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/status/status_facts.h"

#include <stdlib.h>

#include "base/array.h"
#include "store/integrity/check.h"

static int read_vat(struct status_vat *status, struct store *store, struct error *error)
{
    const struct kernel_vat *vat = &status->vat;
    int64_t first;

    if (store_transcript_bounds(store, vat->id, vat->incarnation, &first, &status->transcript_end,
                                error) != 0 ||
        store_vat_sum(store, vat->id, &status->vatstore, error) != 0)
        return -1;
    return store_snapshot_last(store, vat->id, vat->incarnation, &status->snapshot_position,
                               &status->snapshot, &status->has_snapshot, error);
}

static struct status_vat *status_facts_add_vat(struct status_facts *facts, struct error *error)
{
    struct status_vat *vats =
        array_reserve(facts->vats, &facts->vat_capacity, facts->vat_count + 1, sizeof *facts->vats);

    if (vats == NULL) {
        error_memory(error, "the vats");
        return NULL;
    }
    facts->vats = vats;
    vats[facts->vat_count] = (struct status_vat){0};
    return &vats[facts->vat_count++];
}

static int read_vats(struct status_facts *facts, struct kernel *kernel, struct store *store,
                     struct error *error)
{
    int64_t id = 0;
    bool found;

    while (kernel_vat_next(kernel, id, &id, &found, error) == 0) {
        struct status_vat *vat;

        if (!found)
            return 0;
        vat = status_facts_add_vat(facts, error);
        if (vat == NULL || kernel_vat_get(kernel, id, &vat->vat, &found, error) != 0 ||
            kernel_quarantine_reason(kernel, id, &vat->quarantined, &vat->quarantine, error) != 0 ||
            read_vat(vat, store, error) != 0)
            return -1;
    }
    return -1;
}

static int read_kernel(struct status_facts *facts, struct store *store, struct error *error)
{
    const struct kernel_options options = {0};
    struct kernel *kernel = kernel_open(store, &options, error);
    int result;

    if (kernel == NULL)
        return -1;
    result = kernel_require_state(kernel, error);
    if (result == 0)
        result = read_vats(facts, kernel, store, error);
    if (result == 0)
        result = kernel_queues(kernel, &facts->queues, error);
    if (result == 0)
        result = kernel_position(kernel, &facts->cranks, facts->activityhash, error);
    kernel_close(kernel);
    return result;
}

/* All in one transaction, so that every figure is of the same moment. */
static int status_facts_read_all(struct status_facts *facts, struct store *store,
                                 struct error *error)
{
    if (store_transaction_begin(store, error) != 0 || store_require_whole(store, error) != 0 ||
        read_kernel(facts, store, error) != 0 || input_place_open(&facts->input, store, error) != 0)
        return -1;
    return store_sum_all(store, &facts->sums, error);
}

int status_facts_read(struct status_facts *facts, const char *folder, struct error *error)
{
    struct store *store = store_open_reader(folder, error);
    int result;

    *facts = (struct status_facts){0};
    if (store == NULL)
        return -1;
    result = status_facts_read_all(facts, store, error);
    store_close(store);
    return result;
}

void status_facts_free(struct status_facts *facts)
{
    for (size_t i = 0; i < facts->vat_count; i++) {
        kernel_vat_free(&facts->vats[i].vat);
        buf_free(&facts->vats[i].quarantine);
    }
    free(facts->vats);
}
