/* SPDX-License-Identifier: Apache-2.0 */
/* Which vats have a worker, where there may be fewer of them than vats. */
#include "supervisor/vats/vat.h"

static bool is_going(const struct vat *vat)
{
    return vat->state == VAT_LEAVING || vat->state == VAT_ENDING;
}

static bool is_waiting(const struct vat *vat)
{
    return vat->wanted && (vat->state == VAT_AWAY || is_going(vat));
}

/* Workers that are there, those that end included, until they are reaped. */
static bool is_full(const struct warehouse *warehouse)
{
    const uint64_t limit = warehouse->options.max_workers;
    uint64_t workers = 0;

    if (limit == 0)
        return false;
    for (size_t i = 0; i < warehouse->vat_count; i++)
        if (warehouse->vats[i] != NULL && warehouse->vats[i]->process != NULL)
            workers++;
    return workers >= limit;
}

static bool is_away_and_wanted(const struct vat *vat)
{
    return vat->state == VAT_AWAY && vat->wanted;
}

/* What is done before its turn can be done at its turn. */
static bool can_be_spared(const struct vat *vat)
{
    return !vat->wanted && (vat->state == VAT_IDLE || vat_is_ahead(vat));
}

/* Of those that are so, the one that was wanted longest ago; or NULL. */
static struct vat *oldest(const struct warehouse *warehouse, bool (*is_so)(const struct vat *vat))
{
    struct vat *found = NULL;

    for (size_t i = 0; i < warehouse->vat_count; i++) {
        struct vat *vat = warehouse->vats[i];

        if (vat != NULL && is_so(vat) && (found == NULL || vat->wanted_at < found->wanted_at))
            found = vat;
    }
    return found;
}

/* How many workers are still to be told to go, so that one for each vat that waits can come. */
static int64_t lacking(const struct warehouse *warehouse)
{
    int64_t count = 0;

    for (size_t i = 0; i < warehouse->vat_count; i++) {
        const struct vat *vat = warehouse->vats[i];

        if (vat != NULL)
            count += (is_waiting(vat) ? 1 : 0) - (is_going(vat) ? 1 : 0);
    }
    return count;
}

/* Where all are busy, the next one that becomes idle comes here. */
static void put_idle_away(struct warehouse *warehouse)
{
    struct vat *vat;

    while (lacking(warehouse) > 0 && (vat = oldest(warehouse, can_be_spared)) != NULL)
        vat_put_away(vat);
}

void warehouse_share_out(struct warehouse *warehouse)
{
    struct vat *vat;

    while (!warehouse->failed && !warehouse->closing &&
           (vat = oldest(warehouse, is_away_and_wanted)) != NULL) {
        if (is_full(warehouse)) {
            put_idle_away(warehouse);
            return;
        }
        vat_event(vat, VAT_EVENT_WANTED);
    }
}
