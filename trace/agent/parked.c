/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/agent/parked.h"

#include <stddef.h>

enum { PROBES = 8 };

static size_t first_place(uint64_t slot)
{
    return (slot >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 52; /* 12 bits: PARKED_FRAMES */
}

_Static_assert(PARKED_FRAMES == 1 << 12, "first_place() gives 12 bits");

void parked_put(struct parked *parked, uint64_t slot, uint64_t return_address)
{
    const size_t first = first_place(slot);
    size_t place = first;

    for (size_t i = 0; i < PROBES; i++) {
        const size_t at = (first + i) % PARKED_FRAMES;

        if (parked->frames[at].slot == slot || parked->frames[at].slot == 0) {
            place = at;
            break;
        }
        /* Frames lower on the stack ended earlier, most likely. */
        if (parked->frames[at].slot < parked->frames[place].slot)
            place = at;
    }
    parked->frames[place].slot = slot;
    parked->frames[place].return_address = return_address;
}

bool parked_take(struct parked *parked, uint64_t slot, uint64_t *return_address)
{
    const size_t first = first_place(slot);

    for (size_t i = 0; i < PROBES; i++) {
        const size_t at = (first + i) % PARKED_FRAMES;

        if (parked->frames[at].slot != slot)
            continue;
        /* The place stays taken: what was put behind it is found still. */
        parked->frames[at].slot = 8;
        *return_address = parked->frames[at].return_address;
        return true;
    }
    return false;
}
