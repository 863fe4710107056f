/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/wait_sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Nanoseconds multiplied by deliveries exceed 64 bits. */
__extension__ typedef __int128 wide;

/* Moments at which deliveries began, or ceased, to wait, with their running sums. */
struct wait_moments {
    int64_t *times; /* owned; ascending */
    wide *sums;     /* owned; sums[i] is of the first i */
    size_t count;
};

/* ---- adding ---- */

int wait_sums_add(struct wait_sums *sums, const struct model_delivery *delivery, bool wanted,
                  struct error *error)
{
    struct wait_delivery *deliveries;
    int64_t end;

    if (delivery->replay || delivery->start == MODEL_NONE || delivery->total < 0 ||
        delivery->clock_changed || delivery->delivery_num == MODEL_NONE ||
        __builtin_add_overflow(delivery->start, delivery->total, &end))
        return 0;
    deliveries =
        array_reserve(sums->deliveries, &sums->capacity, sums->count + 1, sizeof *deliveries);
    if (deliveries == NULL)
        return error_memory(error, "the deliveries that wait");
    sums->deliveries = deliveries;
    deliveries += sums->count++;
    *deliveries = (struct wait_delivery){
        .vat = names_intern(&sums->vats, delivery->vat_id, strlen(delivery->vat_id)),
        .words = names_intern(&sums->words, delivery->description, strlen(delivery->description)),
        .delivery_num = delivery->delivery_num,
        .start = delivery->start,
        .total = delivery->total,
        .waited = wanted && delivery->queued > 0 ? delivery->queued : 0,
    };
    return deliveries->vat == NAMES_NONE || deliveries->words == NAMES_NONE
               ? error_memory(error, "the deliveries that wait")
               : 0;
}

/* ---- adding up ---- */

static int by_start(const void *a, const void *b)
{
    const struct wait_delivery *const x = a, *const y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->delivery_num < y->delivery_num ? -1 : x->delivery_num > y->delivery_num;
}

static int by_moment(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static int moments_make(struct wait_moments *moments, const struct wait_sums *sums, bool ends)
{
    *moments = (struct wait_moments){.times = calloc(sums->count + 1, sizeof *moments->times),
                                     .sums = calloc(sums->count + 1, sizeof *moments->sums)};
    if (moments->times == NULL || moments->sums == NULL)
        return -1;
    for (size_t i = 0; i < sums->count; i++) {
        const struct wait_delivery *const delivery = &sums->deliveries[i];

        if (delivery->waited > 0)
            moments->times[moments->count++] = delivery->start - (ends ? 0 : delivery->waited);
    }
    qsort(moments->times, moments->count, sizeof *moments->times, by_moment);
    for (size_t i = 0; i < moments->count; i++)
        moments->sums[i + 1] = moments->sums[i] + moments->times[i];
    return 0;
}

static void moments_free(struct wait_moments *moments)
{
    free(moments->times);
    free(moments->sums);
}

/* How many are before `time`, or with `or_at` not after it. */
static size_t moments_before(const struct wait_moments *moments, int64_t time, bool or_at)
{
    size_t low = 0, high = moments->count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (moments->times[middle] < time || (or_at && moments->times[middle] == time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The sum of the times from each earlier moment to `time`. */
static wide moments_passed(const struct wait_moments *moments, int64_t time)
{
    const size_t count = moments_before(moments, time, false);

    return (wide)time * (wide)count - moments->sums[count];
}

/* How long all had waited by then. */
static wide waited_by(const struct wait_moments *begins, const struct wait_moments *ends,
                      int64_t time)
{
    return moments_passed(begins, time) - moments_passed(ends, time);
}

static void hand_on_delays(struct wait_sums *sums, const struct wait_moments *begins,
                           const struct wait_moments *ends)
{
    for (size_t i = 0; i < sums->count; i++) {
        struct wait_delivery *const delivery = &sums->deliveries[i];
        const int64_t end = delivery->start + delivery->total;

        delivery->handed =
            (int64_t)(waited_by(begins, ends, end) - waited_by(begins, ends, delivery->start));
        delivery->waiting =
            moments_before(begins, end, false) - moments_before(ends, delivery->start, true);
        sums->handed += delivery->handed;
        sums->waited += delivery->waited;
        sums->waiters += delivery->waited > 0;
    }
}

int wait_sums_compute(struct wait_sums *sums, struct error *error)
{
    struct wait_moments begins = {0}, ends = {0};
    int result = -1;

    if (moments_make(&begins, sums, false) == 0 && moments_make(&ends, sums, true) == 0) {
        if (sums->count > 0)
            qsort(sums->deliveries, sums->count, sizeof *sums->deliveries, by_start);
        hand_on_delays(sums, &begins, &ends);
        result = 0;
    }
    moments_free(&begins);
    moments_free(&ends);
    return result == 0 ? 0 : error_memory(error, "the deliveries that wait");
}

/* How long `other` ran while `waiter` waited, nanoseconds. */
static int64_t wait_overlap(const struct wait_delivery *waiter, const struct wait_delivery *other)
{
    const int64_t begin = waiter->start - waiter->waited, end = other->start + other->total;
    const int64_t from = begin > other->start ? begin : other->start;
    const int64_t to = waiter->start < end ? waiter->start : end;

    return waiter != other && to > from ? to - from : 0;
}

static void keep_longest(struct wait_meanwhile *others, const struct wait_delivery *delivery,
                         int64_t time)
{
    size_t at;

    if (others->count < WAIT_MEANWHILE)
        others->count++;
    else if (others->times[WAIT_MEANWHILE - 1] >= time)
        return;
    for (at = others->count - 1; at > 0 && others->times[at - 1] < time; at--) {
        others->times[at] = others->times[at - 1];
        others->deliveries[at] = others->deliveries[at - 1];
    }
    others->times[at] = time;
    others->deliveries[at] = delivery;
}

struct wait_meanwhile wait_find_meanwhile(const struct wait_sums *sums,
                                          const struct wait_delivery *waiter)
{
    struct wait_meanwhile others = {.count = 0};

    for (size_t i = 0; i < sums->count; i++) {
        const int64_t time = wait_overlap(waiter, &sums->deliveries[i]);

        if (time > 0)
            keep_longest(&others, &sums->deliveries[i], time);
    }
    return others;
}

void wait_sums_free(struct wait_sums *sums)
{
    free(sums->deliveries);
    names_free(&sums->vats);
    names_free(&sums->words);
    *sums = (struct wait_sums){0};
}

/* Finds a delivery of the sums by vat and number. */
struct place {
    uint32_t vat, delivery;
    int64_t delivery_num;
};

struct wait_profile {
    struct wait_functions *functions;
    const struct wait_sums *sums;
    struct place *places; /* owned; sorted */
};

/* ---- finding deliveries ---- */

static int by_place(const void *a, const void *b)
{
    const struct place *const x = a, *const y = b;

    if (x->vat != y->vat)
        return x->vat < y->vat ? -1 : 1;
    return x->delivery_num < y->delivery_num ? -1 : x->delivery_num > y->delivery_num;
}

static struct place *make_places(const struct wait_sums *sums)
{
    struct place *const places = calloc(sums->count + 1, sizeof *places);

    for (size_t i = 0; places != NULL && i < sums->count; i++)
        places[i] = (struct place){.vat = sums->deliveries[i].vat,
                                   .delivery = (uint32_t)i,
                                   .delivery_num = sums->deliveries[i].delivery_num};
    if (places != NULL)
        qsort(places, sums->count, sizeof *places, by_place);
    return places;
}

/* NULL if not in the sums. */
static const struct place *find_wait_place(const struct wait_profile *profile,
                                           const struct cost_record *record)
{
    struct place wanted = {.vat = NAMES_NONE, .delivery_num = record->delivery_num};

    for (uint32_t i = 0; i < profile->sums->vats.count; i++)
        if (strcmp(names_text(&profile->sums->vats, i), record->vat_id) == 0)
            wanted.vat = i;
    return bsearch(&wanted, profile->places, profile->sums->count, sizeof wanted, by_place);
}

/* ---- reading ---- */

static uint32_t intern_function(struct wait_functions *functions, const struct cost_record *record)
{
    struct buf text = {0};
    uint32_t name = NAMES_NONE;

    buf_append_string(&text, record->function);
    if (record->file[0] != '\0') {
        buf_printf(&text, " (%s", record->file);
        if (record->line != COST_NONE)
            buf_printf(&text, ":%" PRId64, record->line);
        buf_append_byte(&text, ')');
    }
    if (!buf_failed(&text))
        name = names_intern(&functions->names, text.data, text.length);
    buf_free(&text);
    return name;
}

static int add_part(struct wait_functions *functions, uint32_t delivery,
                    const struct cost_record *record, struct error *error)
{
    struct wait_part *const parts =
        array_reserve(functions->parts, &functions->capacity, functions->count + 1, sizeof *parts);
    const uint32_t name = intern_function(functions, record);

    if (parts == NULL || name == NAMES_NONE) {
        functions->parts = parts != NULL ? parts : functions->parts;
        return error_memory(error, "a profile");
    }
    functions->parts = parts;
    parts[functions->count++] =
        (struct wait_part){.delivery = delivery, .function = name, .share = (double)record->self};
    return 0;
}

static int on_wait_record(void *context, const struct cost_record *record, struct error *error)
{
    struct wait_profile *const profile = context;
    struct wait_functions *const functions = profile->functions;
    const struct place *place;

    if (record->kind == COST_STACK)
        return error_set(error, ERROR_INPUT,
                         "folded stacks do not say which delivery they are of: give a profile");
    if (record->kind != COST_FUNCTION || record->self <= 0)
        return 0;
    if (functions->count > 0 && record->unit != functions->unit)
        return error_set(error, ERROR_INPUT,
                         "some profiles are in %s, others in %s: give one kind at a time",
                         cost_unit_names[functions->unit], cost_unit_names[record->unit]);
    functions->unit = record->unit;
    place = find_wait_place(profile, record);
    if (place != NULL)
        return add_part(functions, place->delivery, record, error);
    functions->strangers++;
    return 0;
}

int wait_functions_read(struct wait_functions *functions, const struct wait_sums *sums,
                        const char *path, struct error *error)
{
    struct wait_profile profile = {
        .functions = functions, .sums = sums, .places = make_places(sums)};
    int result;

    if (profile.places == NULL)
        return error_memory(error, "a profile");
    result = cost_file_read(path, on_wait_record, &profile, error);
    free(profile.places);
    return result;
}

/* ---- adding up ---- */

static int by_wait_delivery(const void *a, const void *b)
{
    const struct wait_part *const x = a, *const y = b;

    if (x->delivery != y->delivery)
        return x->delivery < y->delivery ? -1 : 1;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return x->function < y->function ? -1 : x->function > y->function;
}

/* Turns costs into shares of each delivery. */
static void make_shares(struct wait_functions *functions)
{
    size_t end;

    for (size_t first = 0; first < functions->count; first = end) {
        double sum = 0;

        for (end = first; end < functions->count &&
                          functions->parts[end].delivery == functions->parts[first].delivery;
             end++)
            sum += functions->parts[end].share;
        for (size_t i = first; i < end; i++)
            functions->parts[i].share /= sum;
    }
}

static int function_by_handed(const void *a, const void *b)
{
    const struct wait_function *const x = a, *const y = b;

    if (x->handed != y->handed)
        return x->handed > y->handed ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

int wait_functions_compute(struct wait_functions *functions, const struct wait_sums *sums,
                           struct error *error)
{
    functions->function_count = functions->names.count;
    functions->functions = calloc(functions->function_count + 1, sizeof *functions->functions);
    if (functions->functions == NULL)
        return error_memory(error, "a profile");
    if (functions->count > 0)
        qsort(functions->parts, functions->count, sizeof *functions->parts, by_wait_delivery);
    make_shares(functions);
    for (size_t i = 0; i < functions->function_count; i++)
        functions->functions[i].name = (uint32_t)i;
    for (size_t i = 0; i < functions->count; i++) {
        const struct wait_part *const part = &functions->parts[i];

        functions->functions[part->function].handed +=
            part->share * (double)sums->deliveries[part->delivery].handed;
    }
    qsort(functions->functions, functions->function_count, sizeof *functions->functions,
          function_by_handed);
    return 0;
}

const struct wait_part *wait_functions_of(const struct wait_functions *functions, size_t delivery,
                                          size_t *count)
{
    size_t low = 0, high = functions->count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (functions->parts[middle].delivery < delivery)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < functions->count && functions->parts[low + *count].delivery == delivery)
        (*count)++;
    return *count > 0 ? &functions->parts[low] : NULL;
}

void wait_functions_free(struct wait_functions *functions)
{
    names_free(&functions->names);
    free(functions->parts);
    free(functions->functions);
    *functions = (struct wait_functions){0};
}
