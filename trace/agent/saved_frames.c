/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/agent/saved_frames.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "trace/agent/system_call.h"

enum { PROBES = 8 };

/* A table of 2^bits frames. */
struct table {
    struct saved_frame *frames;
    unsigned bits;
};

static struct table table_of(struct saved_frames *saved)
{
    if (saved->frames == NULL)
        return (struct table){saved->first, SAVED_BITS_FIRST};
    return (struct table){saved->frames, saved->bits};
}

static struct saved_frame *probe(struct table table, uint64_t slot, size_t step)
{
    const uint64_t mixed = (slot >> 3) * UINT64_C(0x9e3779b97f4a7c15);
    const size_t first = (size_t)(mixed >> (64 - table.bits));

    /* cppcheck-suppress returnDanglingLifetime ; the frames outlive this copy of where they are */
    return &table.frames[(first + step) & (((size_t)1 << table.bits) - 1)];
}

/* The frame of that slot, else a free one, else NULL. */
static struct saved_frame *saved_frames_find(struct table table, uint64_t slot)
{
    struct saved_frame *unused = NULL;

    for (size_t i = 0; i < PROBES; i++) {
        struct saved_frame *const frame = probe(table, slot, i);

        if (frame->slot == slot)
            return frame;
        if (frame->slot == 0 && unused == NULL)
            unused = frame;
    }
    return unused;
}

static bool move_frames(struct table from, struct table to)
{
    for (size_t i = 0; i < (size_t)1 << from.bits; i++) {
        struct saved_frame *place;

        if (from.frames[i].slot == 0)
            continue;
        place = saved_frames_find(to, from.frames[i].slot);
        if (place == NULL)
            return false;
        place->slot = from.frames[i].slot;
        place->return_address = from.frames[i].return_address;
    }
    return true;
}

static size_t size_of(struct table table)
{
    return sizeof(struct saved_frame) << table.bits;
}

/* A signal handler in between finds one table or the other. */
static bool grow_saved_frames(struct saved_frames *saved)
{
    const struct table before = table_of(saved);

    for (unsigned bits = before.bits + 1; bits <= SAVED_BITS_MOST; bits++) {
        struct table larger = {.bits = bits};

        larger.frames = system_map(size_of(larger));
        if (larger.frames == NULL)
            return false;
        if (move_frames(before, larger)) {
            saved->bits = bits;
            saved->frames = larger.frames;
            if (before.frames != saved->first)
                (void)system_call(SYS_munmap, (long)before.frames, (long)size_of(before), 0, 0);
            return true;
        }
        (void)system_call(SYS_munmap, (long)larger.frames, (long)size_of(larger), 0, 0);
    }
    return false;
}

/* The frame that lies lowest on a stack probably ended first. */
static struct saved_frame *find_lowest(struct table table, uint64_t slot)
{
    struct saved_frame *lowest = probe(table, slot, 0);

    for (size_t i = 1; i < PROBES; i++)
        if (probe(table, slot, i)->slot < lowest->slot)
            lowest = probe(table, slot, i);
    return lowest;
}

void saved_frames_put(struct saved_frames *saved, uint64_t slot, uint64_t return_address)
{
    struct saved_frame *place = saved_frames_find(table_of(saved), slot);

    while (place == NULL && grow_saved_frames(saved))
        place = saved_frames_find(table_of(saved), slot);
    if (place == NULL)
        place = find_lowest(table_of(saved), slot);
    place->slot = slot;
    place->return_address = return_address;
}

bool saved_frames_take(struct saved_frames *saved, uint64_t slot, uint64_t *return_address)
{
    struct saved_frame *const frame = saved_frames_find(table_of(saved), slot);

    if (frame == NULL || frame->slot != slot)
        return false;
    *return_address = frame->return_address;
    frame->slot = 0;
    return true;
}

void saved_frames_empty(struct saved_frames *saved,
                        void (*each)(uint64_t slot, uint64_t return_address))
{
    const struct table table = table_of(saved);

    for (size_t i = 0; i < (size_t)1 << table.bits; i++) {
        if (table.frames[i].slot == 0)
            continue;
        each(table.frames[i].slot, table.frames[i].return_address);
        table.frames[i] = (struct saved_frame){0};
    }
    if (table.frames != saved->first)
        (void)system_call(SYS_munmap, (long)table.frames, (long)size_of(table), 0, 0);
    saved->frames = NULL;
    saved->bits = 0;
}
