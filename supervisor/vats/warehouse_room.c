/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/warehouse_room.h"

static bool is_going(const struct vat *vat)
{
    return vat->state == VAT_LEAVING || vat->state == VAT_ENDING;
}

static bool is_away_and_wanted(const struct vat *vat)
{
    return vat->state == VAT_AWAY && vat->wanted;
}

/* What is done before its turn can be done at its turn. */
static bool can_be_spared(const struct vat *vat)
{
    return !vat->wanted && (vat->state == VAT_IDLE || vat_is_speculative(vat));
}

/* Of those that are so, the one that was wanted longest ago; or NULL. */
static struct vat *oldest(struct vat *const *vats, size_t count,
                          bool (*is_so)(const struct vat *vat))
{
    struct vat *found = NULL;

    for (size_t i = 0; i < count; i++)
        if (vats[i] != NULL && is_so(vats[i]) &&
            (found == NULL || vats[i]->wanted_at < found->wanted_at))
            found = vats[i];
    return found;
}

/* Workers that are there or about to be, and those that end, until they are reaped. */
static bool is_full(struct vat *const *vats, size_t count, uint64_t limit)
{
    uint64_t workers = 0;

    if (limit == 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (vats[i] != NULL && vats[i]->state != VAT_AWAY)
            workers++;
    return workers >= limit;
}

/* How many workers are still to be told to go, so that one for each vat that waits can come. */
static int64_t lacking(struct vat *const *vats, size_t count)
{
    int64_t workers = 0;

    for (size_t i = 0; i < count; i++) {
        const struct vat *vat = vats[i];

        if (vat != NULL)
            workers += (vat->wanted && (vat->state == VAT_AWAY || is_going(vat)) ? 1 : 0) -
                       (is_going(vat) ? 1 : 0);
    }
    return workers;
}

struct vat *warehouse_room_to_start(struct vat *const *vats, size_t count, uint64_t limit)
{
    return is_full(vats, count, limit) ? NULL : oldest(vats, count, is_away_and_wanted);
}

struct vat *warehouse_room_to_spare(struct vat *const *vats, size_t count, uint64_t limit)
{
    if (!is_full(vats, count, limit) || oldest(vats, count, is_away_and_wanted) == NULL ||
        lacking(vats, count) <= 0)
        return NULL;
    return oldest(vats, count, can_be_spared);
}
