/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/stretch.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct kept {
    struct stretch stretch;
    struct kept *next; /* with the same hash */
};

#define BUCKETS 65536

static struct kept *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void stretch_add_kind(struct stretch *stretch, struct kind kind)
{
    stretch->last_class = (uint16_t)kind.class;
    stretch->last_memory = (uint16_t)(KIND_CLASSES + kind.memory);
    stretch->kinds[stretch->last_class]++;
    stretch->kinds[stretch->last_memory]++;
}

static bool is_same(const struct stretch *a, const struct stretch *b)
{
    return a->address == b->address && a->length == b->length && a->last_class == b->last_class &&
           a->last_memory == b->last_memory && memcmp(a->kinds, b->kinds, sizeof a->kinds) == 0;
}

static uint32_t kept_count;

/*
 * By an odd number: the lower bits differ as those of the number do, and do not stand in a row. But
 * four stretches that were met one after the other, as they will be again, share a cache line.
 */
static uint32_t hash_of(uint32_t number)
{
    return (number / 4 * 0x9e3779b1) * 4 + number % 4;
}

static const struct stretch *find_or_add(const struct stretch *stretch)
{
    struct kept **bucket = &buckets[(stretch->address ^ stretch->address >> 16) % BUCKETS];
    struct kept *kept;

    for (kept = *bucket; kept != NULL; kept = kept->next)
        if (is_same(&kept->stretch, stretch))
            return &kept->stretch;
    kept = malloc(sizeof *kept);
    if (kept == NULL)
        return NULL;
    *kept = (struct kept){*stretch, *bucket};
    kept->stretch.number = kept_count++;
    kept->stretch.hash = hash_of(kept->stretch.number);
    *bucket = kept;
    return &kept->stretch;
}

const struct stretch *stretch_keep(const struct stretch *stretch)
{
    const struct stretch *kept;

    pthread_mutex_lock(&lock);
    kept = find_or_add(stretch);
    pthread_mutex_unlock(&lock);
    return kept;
}
