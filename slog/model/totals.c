/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/model.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/model/describe.h"

static uint32_t entries_find(struct entries *entries, struct scan_span type)
{
    struct buf clean = {0};
    uint32_t number = NAMES_NONE;

    describe_string(type, &clean);
    if (!buf_failed(&clean))
        number = names_intern(&entries->types, clean.data, clean.length);
    buf_free(&clean);
    if (number != NAMES_NONE)
        names_remember(&entries->types, type.at, type.length, number);
    return number;
}

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
    number = names_recall(&entries->types, type.at, type.length);

    if (number == NAMES_NONE)
        number = entries_find(entries, type);
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
