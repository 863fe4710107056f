/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/model.h"

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
