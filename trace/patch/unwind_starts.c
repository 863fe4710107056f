/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/unwind_starts.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* What is read: never beyond `end`, after which `bad` stays set. */
struct cursor {
    const uint8_t *at, *end;
    const uint8_t *begin; /* of the section */
    uint64_t address;     /* of `begin` */
    bool bad;
};

/* What a CIE says that its FDEs need. */
struct common {
    uint8_t encoding; /* of addresses */
    uint64_t code_alignment;
    bool augmented;
    bool at_entry; /* its rules are those on a function's entry: CFA = rsp + 8 */
};

static uint64_t take_fixed(struct cursor *cursor, size_t size)
{
    uint64_t value = 0;

    if ((size_t)(cursor->end - cursor->at) < size) {
        cursor->bad = true;
        return 0;
    }
    memcpy(&value, cursor->at, size);
    cursor->at += size;
    return value;
}

static uint64_t take_leb(struct cursor *cursor)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = (uint8_t)take_fixed(cursor, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0 && !cursor->bad);
    return value;
}

static uint64_t unwind_starts_place_of(const struct cursor *cursor)
{
    return cursor->address + (uint64_t)(cursor->at - cursor->begin);
}

/* The forms that compilers for x86-64 use. */
static uint64_t take_encoded(struct cursor *cursor, uint8_t encoding)
{
    const uint64_t place = unwind_starts_place_of(cursor);
    uint64_t value;

    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        value = take_fixed(cursor, 8);
        break;
    case DW_EH_PE_udata4:
        value = take_fixed(cursor, 4);
        break;
    case DW_EH_PE_sdata4:
        value = (uint64_t)(int64_t)(int32_t)take_fixed(cursor, 4);
        break;
    default:
        cursor->bad = true;
        return 0;
    }
    return (encoding & 0x70) == DW_EH_PE_pcrel ? value + place : value;
}

/* Whether the rules before any code is passed are those of a function's entry; `at_entry` is how
 * they were before. */
static bool rules_at_start(struct cursor rules, bool at_entry)
{
    while (rules.at < rules.end && !rules.bad) {
        const uint8_t operation = (uint8_t)take_fixed(&rules, 1);

        switch (operation) {
        case DW_CFA_nop:
            break;
        case DW_CFA_def_cfa: {
            const uint64_t number = take_leb(&rules), offset = take_leb(&rules);

            at_entry = number == 7 && offset == 8;
            break;
        }
        case DW_CFA_def_cfa_offset:
            at_entry = take_leb(&rules) == 8;
            break;
        case DW_CFA_offset | 16: /* where the return address is: beneath the CFA, always */
            (void)take_leb(&rules);
            break;
        case DW_CFA_undefined: /* nobody called it */
            (void)take_leb(&rules);
            return false;
        default: /* code is passed, or registers have been saved: at_entry stays */
            if ((operation & 0xc0) == DW_CFA_advance_loc || operation == DW_CFA_advance_loc1 ||
                operation == DW_CFA_advance_loc2 || operation == DW_CFA_advance_loc4)
                return at_entry;
            return false;
        }
    }
    return at_entry;
}

/* `cursor` is behind the CIE's id and ends where it does. */
static void read_common(struct cursor *cursor, struct common *common)
{
    const uint8_t *augmentation;

    *common = (struct common){.encoding = DW_EH_PE_absptr};
    (void)take_fixed(cursor, 1); /* its version */
    augmentation = cursor->at;
    while (take_fixed(cursor, 1) != 0 && !cursor->bad)
        ;
    common->code_alignment = take_leb(cursor);
    (void)take_leb(cursor);
    (void)take_leb(cursor);
    if (cursor->bad)
        return;
    common->augmented = *augmentation == 'z';
    if (common->augmented) {
        const uint64_t length = take_leb(cursor);
        const uint8_t *const rules = cursor->at + length;

        if (length > (uint64_t)(cursor->end - cursor->at)) {
            cursor->bad = true;
            return;
        }
        for (augmentation++; *augmentation != 0 && !cursor->bad; augmentation++) {
            if (*augmentation == 'R')
                common->encoding = (uint8_t)take_fixed(cursor, 1);
            else if (*augmentation == 'L')
                (void)take_fixed(cursor, 1);
            else if (*augmentation == 'P')
                (void)take_encoded(cursor, (uint8_t)take_fixed(cursor, 1));
        }
        cursor->at = rules;
    }
    common->at_entry = rules_at_start(*cursor, false);
}

struct starts {
    struct unwind_start *items;
    size_t count, capacity;
};

static int add_start(struct starts *starts, uint64_t address, uint64_t size, struct error *error)
{
    struct unwind_start *const items =
        array_reserve(starts->items, &starts->capacity, starts->count + 1, sizeof *items);

    if (items == NULL)
        return error_memory(error, "the functions of a program");
    starts->items = items;
    items[starts->count++] = (struct unwind_start){.address = address, .size = size};
    return 0;
}

/* `cursor` is behind the FDE's pointer to its CIE and ends where the FDE does. */
static int read_range(struct cursor *cursor, const struct common *common, struct starts *starts,
                      struct error *error)
{
    const uint64_t address = take_encoded(cursor, common->encoding);
    const uint64_t size = take_encoded(cursor, common->encoding & 0x0f);

    if (common->augmented) {
        const uint64_t length = take_leb(cursor);

        if (length > (uint64_t)(cursor->end - cursor->at))
            cursor->bad = true;
        else
            cursor->at += length;
    }
    if (cursor->bad || size == 0 || !rules_at_start(*cursor, common->at_entry))
        return 0;
    return add_start(starts, address, size, error);
}

/* The next entry; false at the end. *entry begins behind its id, which stood at *id_at. */
static bool next_entry(struct cursor *section, struct cursor *entry, uint32_t *id, size_t *id_at)
{
    uint64_t length = take_fixed(section, 4);

    if (length == UINT32_MAX)
        length = take_fixed(section, 8);
    if (section->bad || length == 0 || length > (uint64_t)(section->end - section->at))
        return false;
    *entry = *section;
    entry->end = section->at + length;
    section->at = entry->end;
    *id_at = (size_t)(entry->at - entry->begin);
    *id = (uint32_t)take_fixed(entry, 4);
    return !entry->bad;
}

int unwind_starts_read(const uint8_t *bytes, size_t length, uint64_t address,
                       struct unwind_start **starts, size_t *count, struct error *error)
{
    struct cursor section = {bytes, bytes + length, bytes, address, false}, entry;
    struct starts found = {0};
    struct common common = {0};
    size_t common_at = SIZE_MAX, id_at;
    uint32_t id;

    while (next_entry(&section, &entry, &id, &id_at)) {
        if (id == 0) {
            read_common(&entry, &common);
            common_at = entry.bad ? SIZE_MAX : id_at - 4;
        } else if (id_at - id == common_at) { /* always the CIE before it, as linkers write it */
            if (read_range(&entry, &common, &found, error) != 0) {
                free(found.items);
                return -1;
            }
        } else {
            common_at = SIZE_MAX;
        }
    }
    *starts = found.items;
    *count = found.count;
    return 0;
}
