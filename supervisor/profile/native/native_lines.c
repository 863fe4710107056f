/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/native/native_lines.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>

#include "base/array.h"
#include "supervisor/count/profile/count_profile.h"

static bool fill_line(struct native_line *line, const struct elf_line *found, size_t function)
{
    *line = (struct native_line){.function = function, .line = found->line};
    if (found->source != NULL)
        line->source = count_profile_fit_name(found->source);
    if (found->inlined != NULL)
        line->inlined = count_profile_fit_name(found->inlined);
    return (found->source == NULL) == (line->source == NULL) &&
           (found->inlined == NULL) == (line->inlined == NULL);
}

/* Its number; SIZE_MAX without memory. libdw has each path once in a unit. */
static size_t line_number(struct native_lines *lines, const struct elf_line *found, size_t function)
{
    struct pair *const known =
        pair_table_find(&lines->known, (uint64_t)function << 32 | (uint32_t)found->line,
                        (uint64_t)(uintptr_t)found->source);
    struct native_line *items;

    if (known == NULL)
        return SIZE_MAX;
    if (known->value != 0)
        return known->value - 1;
    items = array_reserve(lines->items, &lines->room, lines->count + 1, sizeof *items);
    if (items == NULL)
        return SIZE_MAX;
    lines->items = items;
    if (!fill_line(&items[lines->count], found, function)) {
        free(items[lines->count].source);
        free(items[lines->count].inlined);
        return SIZE_MAX;
    }
    known->value = ++lines->count;
    return lines->count - 1;
}

/* `count` instructions more, which continue the run before if they are of its line. */
static bool add_run(struct native_lines *lines, uint32_t first, size_t line, uint32_t count)
{
    struct native_run *runs;

    if (line == SIZE_MAX)
        return false;
    if (lines->run_count > first && lines->runs[lines->run_count - 1].line == line) {
        lines->runs[lines->run_count - 1].count += count;
        return true;
    }
    runs = array_reserve(lines->runs, &lines->run_room, lines->run_count + 1, sizeof *runs);
    if (runs == NULL)
        return false;
    lines->runs = runs;
    runs[lines->run_count++] = (struct native_run){.line = (uint32_t)line, .count = count};
    return true;
}

/* The bytes of the instruction there; 0: it is none, or not in the file. */
static size_t instruction_size(const ZydisDecoder *decoder, const struct elf_symbols *symbols,
                               uint64_t offset)
{
    ZydisDecodedInstruction instruction;
    size_t available;
    const uint8_t *const bytes = elf_symbols_bytes(symbols, offset, &available);

    return bytes != NULL && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes,
                                                                       available, &instruction))
               ? instruction.length
               : 0;
}

bool native_lines_add(struct native_lines *lines, struct elf_symbols *symbols, uint64_t offset,
                      uint32_t length, size_t function, uint32_t *first, uint32_t *count)
{
    struct elf_line found = {0};
    ZydisDecoder decoder;
    uint32_t done = 0;
    size_t size = 1;

    *first = (uint32_t)lines->run_count;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (symbols != NULL && done < length && size > 0) {
        found = elf_symbols_line(symbols, offset);
        if (!add_run(lines, *first, line_number(lines, &found, function), 1))
            return false;
        size = instruction_size(&decoder, symbols, offset);
        offset += size;
        done++;
    }
    /* What cannot be decoded stays with the line before. */
    if (done < length &&
        !add_run(lines, *first, line_number(lines, &found, function), length - done))
        return false;
    *count = (uint32_t)lines->run_count - *first;
    return true;
}

void native_lines_free(struct native_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->items[i].source);
        free(lines->items[i].inlined);
    }
    free(lines->items);
    free(lines->runs);
    pair_table_free(&lines->known);
    *lines = (struct native_lines){0};
}
