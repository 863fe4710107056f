/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/model.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/model/describe.h"

static int entries_reserve(struct entries *entries, uint32_t number)
{
    size_t before = entries->capacity;
    uint64_t *counts;

    if (number < before)
        return 0;
    counts = array_reserve(entries->counts, &entries->capacity, number + (size_t)1,
                           sizeof *entries->counts);
    if (counts == NULL)
        return -1;
    memset(counts + before, 0, (entries->capacity - before) * sizeof *counts);
    entries->counts = counts;
    return 0;
}

/* Types with one name; nearly all lines are of these. */
static const bool has_one_name[RECORD_TYPES] = {
    [RECORD_SYSCALL] = true,     [RECORD_SYSCALL_RESULT] = true, [RECORD_CLIST] = true,
    [RECORD_DELIVER] = true,     [RECORD_DELIVER_RESULT] = true, [RECORD_CONSOLE] = true,
    [RECORD_CRANK_START] = true, [RECORD_CRANK_FINISH] = true,
};

int entries_add(struct entries *entries, const struct record *record)
{
    struct scan_span type = record->type_name;
    uint32_t number;

    if (entries->known[record->type] > 0) {
        entries->counts[entries->known[record->type] - 1]++;
        return 0;
    }
    number = describe_intern(&entries->types, type);
    if (number == NAMES_NONE || entries_reserve(entries, number) != 0)
        return -1;
    if (has_one_name[record->type])
        entries->known[record->type] = number + 1;
    entries->counts[number]++;
    return 0;
}

static void entries_free(struct entries *entries)
{
    names_free(&entries->types);
    free(entries->counts);
    *entries = (struct entries){0};
}

void totals_add_note(struct model_totals *totals, const struct model_note *note)
{
    const uint64_t number = totals->notes[note->kind]++;

    if (note->kind != MODEL_NOTE_KERNEL || number >= MODEL_RUNS_NAMED)
        return;
    totals->runs[number].file = note->file;
    totals->runs[number].line = note->line;
    totals->runs[number].time = note->time;
}

void model_totals_free(struct model_totals *totals)
{
    entries_free(&totals->entries);
}

/* ---- waits for a CPU ------------------------------------------------------------ */

/* Moves as much of *wait as `part` has left into *taken. */
static void take_wait(int64_t part, int64_t *taken, int64_t *wait)
{
    const int64_t left = part > 0 ? part - *taken : 0;
    const int64_t moved = *wait < left ? *wait : left;

    if (moved <= 0)
        return;
    *taken += moved;
    *wait -= moved;
}

/* How long the worker did not run in its own time; MODEL_NONE if that is not said. */
static int64_t idle_worker(const struct model_delivery *delivery)
{
    const double ran = (delivery->cpu_user + delivery->cpu_sys) * 1000;

    if (isnan(ran) || delivery->worker == MODEL_NONE)
        return MODEL_NONE;
    return ran < (double)delivery->worker ? delivery->worker - (int64_t)ran : 0;
}

static void sum_ways(const struct model_delivery *delivery, int64_t *up, int64_t *down)
{
    for (size_t i = 0; delivery->pipe != MODEL_NONE && i < delivery->span_count; i++) {
        const struct model_span *span = &delivery->spans[i];

        if (span->kind == MODEL_UP || span->kind == MODEL_RETURN)
            *up += span->to - span->from;
        else if (span->kind == MODEL_SEND || span->kind == MODEL_DOWN)
            *down += span->to - span->from;
    }
}

struct model_waits model_waits_of(const struct model_delivery *delivery)
{
    struct model_waits waits = {0};
    int64_t gaspipe = delivery->cpu_wait > 0 ? delivery->cpu_wait : 0;
    int64_t worker = delivery->worker_cpu_wait > 0 ? delivery->worker_cpu_wait : 0;
    int64_t up = 0, down = 0;

    if (gaspipe + worker == 0)
        return waits;
    waits.by_gaspipe = gaspipe;
    waits.by_worker = worker;
    sum_ways(delivery, &up, &down);
    take_wait(idle_worker(delivery), &waits.worker, &worker);
    take_wait(up, &waits.up, &gaspipe);
    take_wait(down, &waits.down, &worker);
    take_wait(delivery->kernel, &waits.kernel, &gaspipe);
    if (idle_worker(delivery) == MODEL_NONE)
        take_wait(delivery->worker, &waits.worker, &worker);
    take_wait(down, &waits.down, &gaspipe);
    take_wait(up, &waits.up, &worker);
    waits.by_gaspipe -= gaspipe;
    waits.by_worker -= worker;
    return waits;
}

void model_waits_add(struct model_waits *sum, const struct model_waits *waits)
{
    sum->up += waits->up;
    sum->down += waits->down;
    sum->worker += waits->worker;
    sum->kernel += waits->kernel;
    sum->by_gaspipe += waits->by_gaspipe;
    sum->by_worker += waits->by_worker;
}
