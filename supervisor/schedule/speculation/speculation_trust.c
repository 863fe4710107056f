/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/speculation/speculation_trust.h"

#include <stdlib.h>

#include "base/array.h"

/*
 * Restarting a worker costs about as much as RESTART_COST deliveries, besides those that it is
 * sent again; so many right predictions make up for one wrong one.
 */
enum { RESTART_COST = 32, DOUBLINGS_MAX = 12 };

struct vat_trust {
    unsigned failures;  /* less those that were made up for */
    unsigned successes; /* since the first failure */
    uint64_t passes;    /* how often to pass it over */
};

void speculation_trust_free(struct speculation_trust *trust)
{
    free(trust->vats);
}

/* NULL when memory ran out. */
static struct vat_trust *trust_of(struct speculation_trust *trust, int64_t vat)
{
    const size_t needed = (size_t)vat + 1;
    struct vat_trust *vats = array_reserve(trust->vats, &trust->capacity, needed, sizeof *vats);

    if (vats == NULL)
        return NULL;
    trust->vats = vats;
    while (trust->count < needed)
        vats[trust->count++] = (struct vat_trust){0};
    return &vats[vat];
}

bool speculation_trust_allows(struct speculation_trust *trust, int64_t vat)
{
    struct vat_trust *known = trust_of(trust, vat);

    if (known == NULL || known->passes == 0)
        return known != NULL;
    known->passes--;
    return false;
}

void speculation_trust_right(struct speculation_trust *trust, int64_t vat)
{
    struct vat_trust *known = trust_of(trust, vat);

    if (known != NULL && known->failures > 0 && ++known->successes % RESTART_COST == 0)
        known->failures--;
}

void speculation_trust_wrong(struct speculation_trust *trust, int64_t vat, int64_t replayed)
{
    struct vat_trust *known = trust_of(trust, vat);

    if (known == NULL)
        return;
    known->passes = (uint64_t)(RESTART_COST + replayed) << known->failures;
    if (known->failures < DOUBLINGS_MAX)
        known->failures++;
}
