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

/* All of them, by number, where they stay. */
#define ROW  1024
#define ROWS 65536

static struct kept *rows[ROWS];
static uint32_t last_number;
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

/*
 * By an odd number: the lower bits differ as those of the number do, and do not stand in a row. But
 * four stretches that were met one after the other, as they will be again, share a cache line.
 */
#define FACTOR  0x9e3779b1U
#define INVERSE 0x0e8b2f51U /* FACTOR times this is 1 */

static uint32_t scatter(uint32_t number, uint32_t factor)
{
    return number / 4 * factor * 4 + number % 4;
}

const struct stretch *stretch_of_key(uint32_t key)
{
    const uint32_t number = scatter(key, INVERSE);

    return &rows[number / ROW][number % ROW].stretch;
}

/* Where the next one goes. NULL without memory. */
static struct kept *next_place(void)
{
    const uint32_t number = last_number + 1;

    if (number / ROW == ROWS)
        return NULL;
    if (rows[number / ROW] == NULL)
        rows[number / ROW] = malloc(ROW * sizeof *rows[0]);
    if (rows[number / ROW] == NULL)
        return NULL;
    last_number = number;
    return &rows[number / ROW][number % ROW];
}

static const struct stretch *find_or_add(const struct stretch *stretch)
{
    struct kept **bucket = &buckets[(stretch->address ^ stretch->address >> 16) % BUCKETS];
    struct kept *kept;

    for (kept = *bucket; kept != NULL; kept = kept->next)
        if (is_same(&kept->stretch, stretch))
            return &kept->stretch;
    kept = next_place();
    if (kept == NULL)
        return NULL;
    *kept = (struct kept){*stretch, *bucket};
    kept->stretch.number = last_number;
    kept->stretch.key = scatter(last_number, FACTOR);
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
