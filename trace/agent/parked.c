/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/agent/parked.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "trace/agent/system_call.h"

enum { PROBES = 8 };

/* A table of 2^bits frames. */
struct table {
    struct parked_frame *frames;
    unsigned bits;
};

static struct table table_of(struct parked *parked)
{
    if (parked->frames == NULL)
        return (struct table){parked->first, PARKED_BITS_FIRST};
    return (struct table){parked->frames, parked->bits};
}

static struct parked_frame *probe(struct table table, uint64_t slot, size_t step)
{
    const uint64_t mixed = (slot >> 3) * UINT64_C(0x9e3779b97f4a7c15);
    const size_t first = (size_t)(mixed >> (64 - table.bits));

    /* cppcheck-suppress returnDanglingLifetime ; the frames outlive this copy of where they are */
    return &table.frames[(first + step) & (((size_t)1 << table.bits) - 1)];
}

/* The frame of that place on the stack, else a free one; NULL: there is neither. */
static struct parked_frame *parked_find(struct table table, uint64_t slot)
{
    struct parked_frame *unused = NULL;

    for (size_t i = 0; i < PROBES; i++) {
        struct parked_frame *const frame = probe(table, slot, i);

        if (frame->slot == slot)
            return frame;
        if (frame->slot == 0 && unused == NULL)
            unused = frame;
    }
    return unused;
}

static bool move(struct table from, struct table to)
{
    for (size_t i = 0; i < (size_t)1 << from.bits; i++) {
        struct parked_frame *place;

        if (from.frames[i].slot == 0)
            continue;
        place = parked_find(to, from.frames[i].slot);
        if (place == NULL)
            return false;
        place->slot = from.frames[i].slot;
        place->return_address = from.frames[i].return_address;
    }
    return true;
}

static size_t size_of(struct table table)
{
    return sizeof(struct parked_frame) << table.bits;
}

/* A signal's handler that comes in between finds the one table or the other. */
static bool grow(struct parked *parked)
{
    const struct table before = table_of(parked);

    for (unsigned bits = before.bits + 1; bits <= PARKED_BITS_MOST; bits++) {
        struct table larger = {.bits = bits};

        larger.frames = system_map(size_of(larger));
        if (larger.frames == NULL)
            return false;
        if (move(before, larger)) {
            parked->bits = bits;
            parked->frames = larger.frames;
            if (before.frames != parked->first)
                (void)system_call(SYS_munmap, (long)before.frames, (long)size_of(before), 0, 0);
            return true;
        }
        (void)system_call(SYS_munmap, (long)larger.frames, (long)size_of(larger), 0, 0);
    }
    return false;
}

/* Frames lower on the stack ended earlier, most likely. */
static struct parked_frame *find_lowest(struct table table, uint64_t slot)
{
    struct parked_frame *lowest = probe(table, slot, 0);

    for (size_t i = 1; i < PROBES; i++)
        if (probe(table, slot, i)->slot < lowest->slot)
            lowest = probe(table, slot, i);
    return lowest;
}

void parked_put(struct parked *parked, uint64_t slot, uint64_t return_address)
{
    struct parked_frame *place = parked_find(table_of(parked), slot);

    while (place == NULL && grow(parked))
        place = parked_find(table_of(parked), slot);
    if (place == NULL)
        place = find_lowest(table_of(parked), slot);
    place->slot = slot;
    place->return_address = return_address;
}

bool parked_take(struct parked *parked, uint64_t slot, uint64_t *return_address)
{
    struct parked_frame *const frame = parked_find(table_of(parked), slot);

    if (frame == NULL || frame->slot != slot)
        return false;
    *return_address = frame->return_address;
    frame->slot = 0;
    return true;
}
