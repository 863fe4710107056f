/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/slogfile_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/model/fnv1a.h"
#include "tools/stats/pairs.h"

/* ---- adding ---------------------------------------------------------- */

struct key {
    uint32_t vat;
    int64_t delivery_num;
};

static uint32_t slogfile_set_number_of(struct slogfile_set *set,
                                       const struct model_delivery *delivery)
{
    struct key key;

    memset(&key, 0, sizeof key); /* padding is compared, too */
    key.vat = names_intern(&set->vats, delivery->vat_id, strlen(delivery->vat_id));
    key.delivery_num = delivery->delivery_num;
    return key.vat == NAMES_NONE ? NAMES_NONE
                                 : names_intern(&set->keys, (const char *)&key, sizeof key);
}

static int set_reserve(struct slogfile_set *set)
{
    struct slogfile_set_delivery *deliveries =
        array_reserve(set->deliveries, &set->capacity, set->count + 1, sizeof *deliveries);
    struct slogfile_set_side *sides;

    if (deliveries == NULL)
        return -1;
    set->deliveries = deliveries;
    sides = array_reserve(set->sides, &set->side_capacity, (set->count + 1) * set->file_count,
                          sizeof *sides);
    if (sides == NULL)
        return -1;
    set->sides = sides;
    return 0;
}

static int set_add_entry(struct slogfile_set *set, const struct model_delivery *delivery)
{
    if (set_reserve(set) != 0)
        return -1;
    memset(&set->sides[set->count * set->file_count], 0, set->file_count * sizeof *set->sides);
    set->deliveries[set->count] = (struct slogfile_set_delivery){
        .vat = names_intern(&set->vats, delivery->vat_id, strlen(delivery->vat_id)),
        .description = set->words.length,
        .delivery_num = delivery->delivery_num};
    buf_append(&set->words, delivery->description, strlen(delivery->description) + 1);
    set->count++;
    return buf_failed(&set->words) ? -1 : 0;
}

static uint32_t fold(uint64_t digest)
{
    return (uint32_t)(digest ^ digest >> 32);
}

static float part_as_float(int64_t nanoseconds)
{
    return nanoseconds == MODEL_NONE ? 0 : (float)nanoseconds;
}

static struct slogfile_set_side set_side_of(const struct model_delivery *delivery)
{
    const char *description = delivery->description;
    uint64_t compute;

    memcpy(&compute, &delivery->compute, sizeof compute);
    return (struct slogfile_set_side){
        .present = true,
        .timed = delivery->pipe != MODEL_NONE && !delivery->clock_changed,
        .input = fold(fnv1a_add(FNV1A_START, description, strlen(description))),
        .result = fold(delivery->result_digest) ^ (delivery->status == MODEL_OK),
        .syscalls = fold(delivery->syscall_digest),
        .compute = isnan(delivery->compute) ? 0 : fold(compute) | 1,
        .parts = {[PAIR_TOTAL] = part_as_float(delivery->total),
                  [PAIR_PIPE] = part_as_float(delivery->pipe),
                  [PAIR_WORKER] = part_as_float(delivery->worker),
                  [PAIR_KERNEL] = part_as_float(delivery->kernel)},
        .start = delivery->start};
}

int slogfile_set_add(struct slogfile_set *set, size_t file, const struct model_delivery *delivery,
                     struct error *error)
{
    uint32_t number;

    /* Replayed or incomplete deliveries are not comparable. */
    if (delivery->replay || delivery->total == MODEL_NONE || delivery->delivery_num == MODEL_NONE)
        return 0;
    number = slogfile_set_number_of(set, delivery);
    if (number == NAMES_NONE || (number == set->count && set_add_entry(set, delivery) != 0))
        return error_memory(error, "the deliveries to compare");
    set->sides[number * set->file_count + file] = set_side_of(delivery);
    return 0;
}

/* ---- reading out -------------------------------------------------------- */

const struct slogfile_set_side *slogfile_set_sides(const struct slogfile_set *set, size_t delivery)
{
    return &set->sides[delivery * set->file_count];
}

const char *slogfile_set_vat(const struct slogfile_set *set, size_t delivery)
{
    return names_text(&set->vats, set->deliveries[delivery].vat);
}

const char *slogfile_set_description(const struct slogfile_set *set, size_t delivery)
{
    return set->words.data + set->deliveries[delivery].description;
}

/* Absent computrons are no difference. */
static unsigned set_differences(const struct slogfile_set_side *a,
                                const struct slogfile_set_side *b)
{
    unsigned differences = 0;

    differences |= a->input != b->input ? PAIR_INPUT : 0;
    differences |= a->result != b->result ? PAIR_RESULT : 0;
    differences |= a->syscalls != b->syscalls ? PAIR_SYSCALLS : 0;
    differences |=
        a->compute != b->compute && a->compute != 0 && b->compute != 0 ? PAIR_COMPUTE : 0;
    return differences;
}

static size_t count_alike(const struct slogfile_set *set, const struct slogfile_set_side *sides,
                          size_t file)
{
    size_t alike = 0;

    for (size_t i = 0; i < set->file_count; i++)
        alike += sides[i].present && set_differences(&sides[i], &sides[file]) == 0;
    return alike;
}

/* The first file with the most frequent outcome. */
static size_t model_file(const struct slogfile_set *set, const struct slogfile_set_side *sides)
{
    size_t best = 0, most = 0;

    for (size_t i = 0; i < set->file_count; i++) {
        size_t alike = sides[i].present ? count_alike(set, sides, i) : 0;

        if (alike > most) {
            most = alike;
            best = i;
        }
        /* More than half: nearly always with the first file. */
        if (2 * most > set->file_count)
            break;
    }
    return best;
}

unsigned slogfile_set_differences(const struct slogfile_set *set, size_t delivery, size_t file)
{
    const struct slogfile_set_side *sides = slogfile_set_sides(set, delivery);

    if (!sides[file].present)
        return 0;
    return set_differences(&sides[file], &sides[model_file(set, sides)]);
}

static bool timed_in_all(const struct slogfile_set *set, const struct slogfile_set_side *sides)
{
    for (size_t i = 0; i < set->file_count; i++) {
        if (!sides[i].timed)
            return false;
    }
    return true;
}

static double median_total(const struct slogfile_set *set, const struct slogfile_set_side *sides)
{
    double totals[SLOGFILE_SET_MOST] = {0};

    for (size_t i = 0; i < set->file_count; i++)
        totals[i] = (double)sides[i].parts[PAIR_TOTAL];
    return median(totals, set->file_count);
}

double slogfile_set_excess(const struct slogfile_set *set, size_t delivery, size_t file)
{
    const struct slogfile_set_side *sides = slogfile_set_sides(set, delivery);

    if (!timed_in_all(set, sides))
        return 0;
    return (double)sides[file].parts[PAIR_TOTAL] -
           median_total(set, sides) * set->files[file].ratio;
}

/* ---- the whole ---------------------------------------------------------- */

static void count_delivery(struct slogfile_set *set, size_t delivery)
{
    const struct slogfile_set_side *sides = slogfile_set_sides(set, delivery);
    bool timed = timed_in_all(set, sides);
    size_t present = 0;

    for (size_t i = 0; i < set->file_count; i++) {
        struct slogfile_set_file *file = &set->files[i];

        present += sides[i].present;
        file->deliveries += sides[i].present;
        file->missing += !sides[i].present;
        file->differing += slogfile_set_differences(set, delivery, i) != 0;
        for (int part = 0; timed && part < PAIR_PARTS; part++)
            file->sums[part] += (double)sides[i].parts[part];
    }
    set->in_all += present == set->file_count;
    set->timed_in_all += timed;
}

static double usual_ratio(const struct slogfile_set *set, size_t file, double *values)
{
    size_t count = 0;

    for (size_t i = 0; i < set->count; i++) {
        const struct slogfile_set_side *sides = slogfile_set_sides(set, i);
        double usual;

        if (!timed_in_all(set, sides))
            continue;
        usual = median_total(set, sides);
        if (usual > 0)
            values[count++] = (double)sides[file].parts[PAIR_TOTAL] / usual;
    }
    return count > 0 ? median(values, count) : 1;
}

/*
 * Clocks cannot be compared directly, as nothing happens at the same time on both. The median
 * difference between the starts of a delivery is taken as the clocks' difference, and what exceeds
 * it as lateness.
 */
static void align_clock(struct slogfile_set *set, size_t number, double *values)
{
    struct slogfile_set_file *file = &set->files[number];
    int64_t zero = 0, first = 0, last = 0;
    size_t count = 0;

    for (size_t i = 0; i < set->count; i++) {
        const struct slogfile_set_side *sides = slogfile_set_sides(set, i);
        int64_t difference;

        if (!sides[0].present || !sides[number].present ||
            __builtin_sub_overflow(sides[number].start, sides[0].start, &difference))
            continue;
        if (count == 0)
            zero = first = difference;
        /* From the first on, so that a double has the nanoseconds. */
        values[count++] = (double)difference - (double)zero;
        last = difference;
    }
    file->aligned = count > 0;
    if (count == 0)
        return;
    file->clock = zero + (int64_t)median(values, count);
    file->late_first = first - file->clock;
    file->late_last = last - file->clock;
}

/* The part whose sum exceeds the files' median most. */
static enum pair_part find_where(const struct slogfile_set *set, size_t file)
{
    enum pair_part most = PAIR_PIPE;
    double most_above = -INFINITY;

    for (int part = PAIR_PIPE; part < PAIR_PARTS; part++) {
        double sums[SLOGFILE_SET_MOST] = {0}, above;

        for (size_t i = 0; i < set->file_count; i++)
            sums[i] = set->files[i].sums[part];
        above = set->files[file].sums[part] - median(sums, set->file_count);
        if (above > most_above) {
            most_above = above;
            most = (enum pair_part)part;
        }
    }
    return most;
}

int slogfile_set_compute(struct slogfile_set *set, struct error *error)
{
    double *values = calloc(set->count + 1, sizeof *values);

    if (values == NULL)
        return error_memory(error, "the deliveries to compare");
    for (size_t i = 0; i < set->count; i++)
        count_delivery(set, i);
    for (size_t i = 0; i < set->file_count; i++) {
        set->files[i].ratio = usual_ratio(set, i, values);
        set->files[i].where = find_where(set, i);
        align_clock(set, i, values);
    }
    free(values);
    return 0;
}

void slogfile_set_free(struct slogfile_set *set)
{
    free(set->deliveries);
    free(set->sides);
    names_free(&set->vats);
    names_free(&set->keys);
    buf_free(&set->words);
    *set = (struct slogfile_set){0};
}
