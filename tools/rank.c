/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static double number_or_nan(int64_t number)
{
    return number == MODEL_NONE ? NAN : (double)number;
}

#define COLUMN_OF_TIME(name)                                                                       \
    static double name##_of(const struct model_delivery *delivery)                                 \
    {                                                                                              \
        return number_or_nan(delivery->name);                                                      \
    }
#define COLUMN_OF_COUNT(name)                                                                      \
    static double name##_of(const struct model_delivery *delivery)                                 \
    {                                                                                              \
        return (double)delivery->name;                                                             \
    }

COLUMN_OF_TIME(total)
COLUMN_OF_TIME(pipe)
COLUMN_OF_TIME(worker)
COLUMN_OF_TIME(kernel)
COLUMN_OF_TIME(unattributed)
COLUMN_OF_TIME(between)
COLUMN_OF_TIME(start)
COLUMN_OF_TIME(crank_num)
COLUMN_OF_TIME(delivery_num)
COLUMN_OF_TIME(block_height)
COLUMN_OF_COUNT(compute)
COLUMN_OF_COUNT(instructions)
COLUMN_OF_COUNT(syscalls)
COLUMN_OF_COUNT(consoles)

static const struct rank_column columns[] = {
    {"total", total_of},
    {"pipe", pipe_of},
    {"worker", worker_of},
    {"kernel", kernel_of},
    {"unattributed", unattributed_of},
    {"between", between_of},
    {"compute", compute_of},
    {"instructions", instructions_of},
    {"syscalls", syscalls_of},
    {"consoles", consoles_of},
    {"start", start_of},
    {"crank", crank_num_of},
    {"delivery", delivery_num_of},
    {"block", block_height_of},
};

const struct rank_column *rank_find_column(const char *name)
{
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (strcmp(columns[i].name, name) == 0)
            return &columns[i];
    }
    return NULL;
}

void rank_column_names(struct buf *names)
{
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        buf_printf(names, "%s%s", i == 0 ? "" : ", ", columns[i].name);
}

/* Whether a comes before b in the report. */
static bool before(const struct rank_entry *a, const struct rank_entry *b)
{
    if (isnan(a->key) || isnan(b->key))
        return isnan(a->key) == isnan(b->key) ? a->number < b->number : isnan(b->key);
    return a->key == b->key ? a->number < b->number : a->key > b->key;
}

static void swap(struct rank_entry *a, struct rank_entry *b)
{
    struct rank_entry kept = *a;

    *a = *b;
    *b = kept;
}

/*
 * Brings the root to its place; where that is. The heap's root is the entry
 * that goes first when a better one comes.
 */
static size_t sift_down(struct rank *rank)
{
    size_t at = 0;

    for (;;) {
        size_t worst = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < rank->count; child++) {
            if (before(&rank->entries[worst], &rank->entries[child]))
                worst = child;
        }
        if (worst == at)
            return at;
        swap(&rank->entries[at], &rank->entries[worst]);
        at = worst;
    }
}

/* To its place; where that is. */
static size_t sift_up(struct rank *rank, size_t at)
{
    while (at > 0 && before(&rank->entries[(at - 1) / 2], &rank->entries[at])) {
        swap(&rank->entries[at], &rank->entries[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    return at;
}

/* The entry for a new delivery in the place of the worst one; NULL when it is worse still. */
static struct buf *replace_worst(struct rank *rank, struct rank_entry entry)
{
    struct rank_entry *worst = &rank->entries[0];

    if (!before(&entry, worst))
        return NULL;
    entry.text = worst->text;
    buf_clear(&entry.text);
    *worst = entry;
    return &rank->entries[sift_down(rank)].text;
}

int rank_add(struct rank *rank, const struct model_delivery *delivery, struct buf **text,
             struct error *error)
{
    struct rank_entry entry = {.key = rank->column->value(delivery), .number = rank->seen++};
    struct rank_entry *entries;

    if (rank->reverse)
        entry.key = -entry.key;
    if (rank->top > 0 && rank->count == rank->top) {
        *text = replace_worst(rank, entry);
        return *text != NULL;
    }
    entries = array_reserve(rank->entries, &rank->capacity, rank->count + 1, sizeof *entries);
    if (entries == NULL)
        return error_memory(error, "the deliveries to sort");
    rank->entries = entries;
    entries[rank->count++] = entry;
    *text = &entries[rank->top > 0 ? sift_up(rank, rank->count - 1) : rank->count - 1].text;
    return 1;
}

static int compare(const void *a, const void *b)
{
    return before(a, b) ? -1 : before(b, a);
}

void rank_sort(struct rank *rank)
{
    if (rank->count > 1)
        qsort(rank->entries, rank->count, sizeof rank->entries[0], compare);
}

void rank_free(struct rank *rank)
{
    for (size_t i = 0; i < rank->count; i++)
        buf_free(&rank->entries[i].text);
    free(rank->entries);
    rank->entries = NULL;
    rank->count = rank->capacity = 0;
}
