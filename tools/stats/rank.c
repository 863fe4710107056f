/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/rank.h"

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
COLUMN_OF_TIME(cpu_wait)
COLUMN_OF_TIME(worker_cpu_wait)
COLUMN_OF_TIME(between)
COLUMN_OF_TIME(start)
COLUMN_OF_TIME(crank_num)
COLUMN_OF_TIME(delivery_num)
COLUMN_OF_TIME(block_height)
COLUMN_OF_TIME(queued)
COLUMN_OF_COUNT(compute)
COLUMN_OF_COUNT(instructions)
COLUMN_OF_COUNT(block_cost)
COLUMN_OF_COUNT(gas_burnt)
COLUMN_OF_COUNT(gas)
COLUMN_OF_COUNT(syscalls)
COLUMN_OF_COUNT(consoles)
COLUMN_OF_COUNT(replay)

static double overrun_value(const struct model_delivery *delivery)
{
    return delivery->overrun < 0 ? NAN : delivery->overrun;
}

#define COLUMN_OF_WORDS(name)                                                                      \
    static const char *name##_of(const struct model_delivery *delivery)                            \
    {                                                                                              \
        return delivery->name;                                                                     \
    }

COLUMN_OF_WORDS(vat_id)
COLUMN_OF_WORDS(vat_name)
COLUMN_OF_WORDS(kind)
COLUMN_OF_WORDS(method)
COLUMN_OF_WORDS(description)

static const char *status_of(const struct model_delivery *delivery)
{
    return delivery->status == MODEL_OK ? "ok" : "error";
}

static const struct rank_column columns[] = {
    {"total", total_of, NULL},
    {"pipe", pipe_of, NULL},
    {"worker", worker_of, NULL},
    {"kernel", kernel_of, NULL},
    {"unattributed", unattributed_of, NULL},
    {"cpuWait", cpu_wait_of, NULL},
    {"workerCpuWait", worker_cpu_wait_of, NULL},
    {"between", between_of, NULL},
    {"compute", compute_of, NULL},
    {"instructions", instructions_of, NULL},
    {"blockCost", block_cost_of, NULL},
    {"gasBurnt", gas_burnt_of, NULL},
    {"gas", gas_of, NULL},
    {"syscalls", syscalls_of, NULL},
    {"consoles", consoles_of, NULL},
    {"start", start_of, NULL},
    {"crank", crank_num_of, NULL},
    {"delivery", delivery_num_of, NULL},
    {"block", block_height_of, NULL},
    {"replay", replay_of, NULL},
    {"overrun", overrun_value, NULL},
    {"queued", queued_of, NULL},
    {"vat", NULL, vat_id_of},
    {"name", NULL, vat_name_of},
    {"kind", NULL, kind_of},
    {"method", NULL, method_of},
    {"description", NULL, description_of},
    {"status", NULL, status_of},
};

const struct rank_column *rank_find_column(const char *name)
{
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (strcmp(columns[i].name, name) == 0)
            return &columns[i];
    }
    return NULL;
}

void rank_column_names(struct buf *names, struct similar *similar)
{
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        buf_printf(names, "%s%s", i == 0 ? "" : ", ", columns[i].name);
        similar_try(similar, columns[i].name);
    }
}

/* True if a comes before b. */
static bool before(const struct rank_entry *a, const struct rank_entry *b)
{
    if (a->words != NULL && b->words != NULL) {
        /* v10 sorts after v9. */
        int order = strverscmp(a->words, b->words);

        return order == 0 ? a->number < b->number : (order < 0) != a->reverse;
    }
    if (isnan(a->key) || isnan(b->key))
        return isnan(a->key) == isnan(b->key) ? a->number < b->number : isnan(b->key);
    return a->key == b->key ? a->number < b->number : a->key > b->key;
}

static int make_rank_entry(struct rank *rank, const struct model_delivery *delivery,
                           struct rank_entry *entry, struct error *error)
{
    const struct rank_column *column = rank->column;

    *entry = (struct rank_entry){.number = rank->seen++, .reverse = rank->reverse};
    if (column->words == NULL) {
        entry->key = rank->reverse ? -column->value(delivery) : column->value(delivery);
        return 0;
    }
    entry->words = strdup(column->words(delivery));
    return entry->words != NULL ? 0 : error_memory(error, "the deliveries to sort");
}

static int rank_compare(const void *a, const void *b)
{
    return before(a, b) ? -1 : before(b, a);
}

void rank_sort(struct rank *rank)
{
    if (rank->count > 1)
        qsort(rank->entries, rank->count, sizeof rank->entries[0], rank_compare);
    while (rank->top > 0 && rank->count > rank->top) {
        struct rank_entry *last = &rank->entries[--rank->count];

        buf_free(&last->text);
        free(last->words);
    }
}

/* True if as many better ones are known as are kept. */
static bool is_out(const struct rank *rank, const struct rank_entry *entry)
{
    return rank->trimmed && !before(entry, &rank->entries[rank->top - 1]);
}

int rank_add(struct rank *rank, const struct model_delivery *delivery, struct rank_entry **entry,
             struct error *error)
{
    struct rank_entry made, *entries;

    if (make_rank_entry(rank, delivery, &made, error) != 0)
        return -1;
    if (is_out(rank, &made)) {
        free(made.words);
        return 0;
    }
    if (rank->top > 0 && rank->count / 2 >= rank->top) {
        rank_sort(rank);
        rank->trimmed = true;
    }
    entries = array_reserve(rank->entries, &rank->capacity, rank->count + 1, sizeof *entries);
    if (entries == NULL) {
        free(made.words);
        return error_memory(error, "the deliveries to sort");
    }
    rank->entries = entries;
    entries[rank->count++] = made;
    *entry = &entries[rank->count - 1];
    return 1;
}

void rank_free(struct rank *rank)
{
    for (size_t i = 0; i < rank->count; i++) {
        buf_free(&rank->entries[i].text);
        free(rank->entries[i].words);
    }
    free(rank->entries);
    rank->entries = NULL;
    rank->count = rank->capacity = 0;
}
