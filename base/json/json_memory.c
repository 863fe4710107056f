/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/json_memory.h"

#include <jansson.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

/* The sizes of glibc's malloc(3) blocks: 24 bytes, 40, 56 and so on. */
enum { LEAST = 24, STEP = 16, SIZES = 8, KEPT_MAX = 256 };

struct block {
    struct block *next;
};

static _Thread_local struct {
    struct block *first;
    unsigned count;
} kept[SIZES];

static void *take_block(size_t bytes)
{
    const size_t size = bytes <= LEAST ? 0 : (bytes - LEAST + STEP - 1) / STEP;
    struct block *block;

    if (size >= SIZES)
        return malloc(bytes);
    block = kept[size].first;
    if (block == NULL)
        return malloc(LEAST + size * STEP);
    kept[size].first = block->next;
    kept[size].count--;
    return block;
}

static void keep_block(void *bytes)
{
    struct block *block = bytes;
    size_t size;

    if (block == NULL)
        return;
    size = (malloc_usable_size(block) - LEAST) / STEP;
    if (size >= SIZES || kept[size].count >= KEPT_MAX) {
        free(block);
        return;
    }
    block->next = kept[size].first;
    kept[size].first = block;
    kept[size].count++;
}

void json_memory_keep(void)
{
    json_set_alloc_funcs(take_block, keep_block);
}
