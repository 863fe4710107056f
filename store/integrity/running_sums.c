/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/running_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/integrity/row.h"
#include "store/statements.h"
#include "store/store_internal.h"

struct running_sum {
    struct vat_sum sum;
    bool changed; /* since it was read or written */
};

static int running_sums_no_memory(struct error *error)
{
    return error_memory(error, "the running hashes of the store");
}

/* ---- in the table ---- */

static struct row running_sums_row_of(const struct vat_sum *sum)
{
    return (struct row){.table = ROW_SUM, .numbers = {sum->vat, sum->rows, (int64_t)sum->sum}};
}

static int take_sum(struct store *store, enum statement which, struct vat_sum *sum,
                    struct error *error)
{
    struct row row;

    *sum = (struct vat_sum){.vat = statement_integer(store, which, 0),
                            .rows = statement_integer(store, which, 1),
                            .sum = (uint64_t)statement_integer(store, which, 2)};
    row = running_sums_row_of(sum);
    return row_check(store, &row, (uint64_t)statement_integer(store, which, 3), error);
}

int running_sums_read(struct store *store, int64_t vat, struct vat_sum *sum, struct error *error)
{
    int result;
    bool found;

    *sum = (struct vat_sum){.vat = vat};
    statement_bind_integer(store, STATEMENT_SUM_GET, 1, vat);
    result = statement_step(store, STATEMENT_SUM_GET, &found, error);
    if (found)
        result = take_sum(store, STATEMENT_SUM_GET, sum, error);
    statement_done(store, STATEMENT_SUM_GET);
    return result;
}

int running_sums_read_total(struct store *store, uint64_t *total, struct error *error)
{
    struct vat_sum sum;
    bool found;
    int result;

    *total = 0;
    while ((result = statement_step(store, STATEMENT_SUM_ALL, &found, error)) == 0 && found &&
           (result = take_sum(store, STATEMENT_SUM_ALL, &sum, error)) == 0)
        *total += sum.sum;
    statement_done(store, STATEMENT_SUM_ALL);
    return result;
}

/* A vat without rows has no sum either: so a store's rows alone say what its sums are. */
static int write_sum(struct store *store, const struct vat_sum *sum, struct error *error)
{
    const struct row row = running_sums_row_of(sum);

    if (sum->rows == 0) {
        statement_bind_integer(store, STATEMENT_SUM_DELETE, 1, sum->vat);
        return statement_run(store, STATEMENT_SUM_DELETE, error);
    }
    for (int i = 0; i < 3; i++)
        statement_bind_integer(store, STATEMENT_SUM_SET, i + 1, row.numbers[i]);
    statement_bind_integer(store, STATEMENT_SUM_SET, 4, (int64_t)row_checksum(&row));
    return statement_run(store, STATEMENT_SUM_SET, error);
}

/* ---- in memory ---- */

/* The place of the vat's, or of the first one behind it. */
static size_t running_sums_place_of(const struct running_sums *sums, int64_t vat)
{
    size_t low = 0, high = sums->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (sums->sums[middle].sum.vat < vat)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* NULL with the error filled. */
static struct running_sum *provide(struct store *store, int64_t vat, struct error *error)
{
    struct running_sums *sums = &store->sums;
    const size_t place = running_sums_place_of(sums, vat);
    struct running_sum *array;
    struct vat_sum sum;

    if (place < sums->count && sums->sums[place].sum.vat == vat)
        return &sums->sums[place];
    if (running_sums_read(store, vat, &sum, error) != 0)
        return NULL;
    array = array_reserve(sums->sums, &sums->capacity, sums->count + 1, sizeof *array);
    if (array == NULL) {
        running_sums_no_memory(error);
        return NULL;
    }
    sums->sums = array;
    memmove(&array[place + 1], &array[place], (sums->count - place) * sizeof *array);
    sums->count++;
    array[place] = (struct running_sum){.sum = sum};
    return &array[place];
}

static void change_sum(struct running_sums *sums, struct running_sum *sum, int64_t rows,
                       uint64_t difference)
{
    sum->sum.rows += rows;
    sum->sum.sum += difference;
    sum->changed = true;
    sums->total += difference;
}

static int note_change(struct running_sums *sums, const struct vat_sum *change, struct error *error)
{
    struct vat_sum *changes;

    if (sums->savepoint_count == 0)
        return 0;
    changes = array_reserve(sums->changes, &sums->change_capacity, sums->change_count + 1,
                            sizeof *changes);
    if (changes == NULL)
        return running_sums_no_memory(error);
    sums->changes = changes;
    changes[sums->change_count++] = *change;
    return 0;
}

int running_sums_add(struct store *store, const struct vat_sum *change, struct error *error)
{
    struct running_sum *sum = provide(store, change->vat, error);

    if (sum == NULL || note_change(&store->sums, change, error) != 0)
        return -1;
    change_sum(&store->sums, sum, change->rows, change->sum);
    return 0;
}

int running_sums_savepoint(struct running_sums *sums, struct error *error)
{
    size_t *savepoints = array_reserve(sums->savepoints, &sums->savepoint_capacity,
                                       sums->savepoint_count + 1, sizeof *savepoints);

    if (savepoints == NULL)
        return running_sums_no_memory(error);
    sums->savepoints = savepoints;
    savepoints[sums->savepoint_count++] = sums->change_count;
    return 0;
}

void running_sums_undo(struct running_sums *sums)
{
    const size_t then = sums->savepoints[--sums->savepoint_count];

    while (sums->change_count > then) {
        const struct vat_sum *change = &sums->changes[--sums->change_count];

        change_sum(sums, &sums->sums[running_sums_place_of(sums, change->vat)], -change->rows,
                   -change->sum);
    }
}

void running_sums_release(struct running_sums *sums)
{
    /* The outer savepoint still needs the list of what changed. */
    if (--sums->savepoint_count == 0)
        sums->change_count = 0;
}

int running_sums_gather(struct running_sums *sums, struct sum_writes *writes, struct error *error)
{
    writes->count = 0;
    for (size_t i = 0; i < sums->count; i++) {
        struct vat_sum *array;

        if (!sums->sums[i].changed)
            continue;
        array = array_reserve(writes->sums, &writes->capacity, writes->count + 1, sizeof *array);
        if (array == NULL)
            return running_sums_no_memory(error);
        writes->sums = array;
        array[writes->count++] = sums->sums[i].sum;
        sums->sums[i].changed = false;
    }
    return 0;
}

int running_sums_write(struct store *store, const struct sum_writes *writes, struct error *error)
{
    for (size_t i = 0; i < writes->count; i++)
        if (write_sum(store, &writes->sums[i], error) != 0)
            return -1;
    return 0;
}

void running_sums_clear(struct running_sums *sums)
{
    free(sums->sums);
    free(sums->changes);
    free(sums->savepoints);
    *sums = (struct running_sums){0};
}
