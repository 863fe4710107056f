/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/json_arena.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

/* What does not fit any more is malloc()'s: then the delivery is so large that nobody minds. */
enum { ARENA_SIZE = 4 << 20, ALIGNMENT = 16 };

static _Alignas(ALIGNMENT) unsigned char arena[ARENA_SIZE];
static size_t used;

static void *json_arena_take(size_t size)
{
    const size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    void *place = arena + used;

    if (rounded < size || rounded > ARENA_SIZE - used)
        return malloc(size);
    used += rounded;
    return place;
}

static void give_back(void *place)
{
    if ((uintptr_t)place - (uintptr_t)arena >= ARENA_SIZE)
        free(place);
}

void json_arena_install(void)
{
    json_set_alloc_funcs(json_arena_take, give_back);
    /* A seed by chance would show, too. */
    json_object_seed(1);
}

void json_arena_reset(void)
{
    used = 0;
}
