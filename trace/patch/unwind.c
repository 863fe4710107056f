/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/unwind.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/memory.h"

/* ---- where functions begin ---- */

/* Reads a section: a read beyond `end` sets `bad` permanently. */
struct cursor {
    const uint8_t *at, *end;
    const uint8_t *begin; /* of the section */
    uint64_t address;     /* of `begin` */
    bool bad;
};

/* The part of a CIE that its FDEs need. */
struct common {
    uint8_t encoding; /* of addresses */
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

/* Returns true if the rules for the first instruction are those of a function's entry; `at_entry`
 * is the state before them. */
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
        case DW_CFA_offset | 16: /* the place of the return address: always below the CFA */
            (void)take_leb(&rules);
            break;
        case DW_CFA_undefined: /* it has no caller */
            (void)take_leb(&rules);
            return false;
        default: /* the first instruction's rules end */
            if ((operation & 0xc0) == DW_CFA_advance_loc || operation == DW_CFA_advance_loc1 ||
                operation == DW_CFA_advance_loc2 || operation == DW_CFA_advance_loc4)
                return at_entry;
            return false;
        }
    }
    return at_entry;
}

/* `cursor` is after the CIE's id, and ends with the CIE. */
static void read_common(struct cursor *cursor, struct common *common)
{
    const uint8_t *augmentation;

    *common = (struct common){.encoding = DW_EH_PE_absptr};
    (void)take_fixed(cursor, 1); /* its version */
    augmentation = cursor->at;
    while (take_fixed(cursor, 1) != 0 && !cursor->bad)
        ;
    (void)take_leb(cursor);
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

/* `cursor` is after the FDE's pointer to its CIE, and ends with the FDE. */
static int read_unwind_range(struct cursor *cursor, const struct common *common,
                             struct starts *starts, struct error *error)
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

/* The next entry; false at the end. *entry begins after its id, which is at *id_at. */
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

/* Reads the CIE at that offset. False: it is not a CIE. */
static bool find_common(const struct cursor *section, size_t at, struct common *common)
{
    struct cursor from = *section, entry;
    size_t id_at;
    uint32_t id;

    from.at = from.begin + at;
    if (!next_entry(&from, &entry, &id, &id_at) || id != 0)
        return false;
    read_common(&entry, common);
    return !entry.bad;
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
        if (id == 0 || id > id_at) /* a CIE, or an invalid entry */
            continue;
        /* Linkers merge equal CIEs, so an FDE's CIE need not directly precede it. */
        if (id_at - id != common_at)
            common_at = find_common(&section, id_at - id, &common) ? id_at - id : SIZE_MAX;
        if (common_at != SIZE_MAX && read_unwind_range(&entry, &common, &found, error) != 0) {
            free(found.items);
            return -1;
        }
    }
    *starts = found.items;
    *count = found.count;
    return 0;
}

/* ---- how to pass a trampoline ---- */

/*
 * An unwinder that finds a trampoline's return address on the stack needs the original one, which
 * is on a shadow stack. DWARF has no rule for that, but its expressions can search: each
 * trampoline's rule walks the lanes, in the traced process, while it handles an exception. An error
 * in the table ends the program in std::terminate() or a wild jump.
 */
enum { RSP = 7, RETURN_ADDRESS = 16 };

struct table {
    uint8_t *begin, *at;
};

static void put_table_byte(struct table *table, unsigned byte)
{
    *table->at++ = (uint8_t)byte;
}

static void put_bytes(struct table *table, const void *bytes, size_t length)
{
    memcpy(table->at, bytes, length);
    table->at += length;
}

static void put_table_word(struct table *table, uint64_t word)
{
    put_bytes(table, &word, sizeof word);
}

static void put_constant(struct table *table, uint64_t number)
{
    put_table_byte(table, DW_OP_const8u);
    put_table_word(table, number);
}

static void put_add(struct table *table, uint64_t number)
{
    put_table_byte(table, DW_OP_plus_uconst);
    for (; number >= 0x80; number >>= 7)
        put_table_byte(table, 0x80 | (number & 0x7f));
    put_table_byte(table, (unsigned)number);
}

/* A jump whose target lead() sets later. */
static uint8_t *put_expression_jump(struct table *table, unsigned operation)
{
    put_table_byte(table, operation);
    table->at += 2;
    return table->at;
}

static void lead(uint8_t *after, const uint8_t *target)
{
    const int16_t distance = (int16_t)(target - after);

    memcpy(after - sizeof distance, &distance, sizeof distance);
}

static void put_load(struct table *table, uint64_t offset)
{
    if (offset > 0)
        put_add(table, offset);
    put_table_byte(table, DW_OP_deref);
}

/*
 * Replaces the slot on the expression's stack by the address of the frame with its return address.
 * Walks each used lane from its lowest frame to its top. The expression's stack is:
 *
 *   slot slot lane             at `lane`
 *   slot slot lane frame end   at `compare`
 */
static void put_search(struct table *table, const struct trace_head *head, uint64_t zero)
{
    const uint64_t lanes = head->mapped_at + head->lanes_at;
    uint8_t *used, *unused, *inside, *outside, *found, *again, *more, *done;
    const uint8_t *lane, *compare;

    /* libgcc's DW_OP_pick does not reach the lowest element: one more lies below. */
    put_table_byte(table, DW_OP_dup);
    put_constant(table, lanes);
    lane = table->at;
    put_table_byte(table, DW_OP_dup);
    put_load(table, offsetof(struct trace_lane, shadow));
    put_table_byte(table, DW_OP_over);
    put_load(table, offsetof(struct trace_lane, shadow_top));
    put_table_byte(table, DW_OP_dup);
    used = put_expression_jump(table, DW_OP_bra);
    put_table_byte(table, DW_OP_drop);
    put_table_byte(table, DW_OP_drop);
    unused = put_expression_jump(table, DW_OP_skip);
    lead(used, table->at);
    put_load(table, 0);
    compare = table->at;
    put_table_byte(table, DW_OP_over);
    put_table_byte(table, DW_OP_over);
    put_table_byte(table, DW_OP_lt);
    inside = put_expression_jump(table, DW_OP_bra);
    put_table_byte(table, DW_OP_drop);
    put_table_byte(table, DW_OP_drop);
    outside = put_expression_jump(table, DW_OP_skip);
    lead(inside, table->at);
    put_table_byte(table, DW_OP_over);
    put_load(table, offsetof(struct trace_frame, slot));
    put_table_byte(table, DW_OP_pick);
    put_table_byte(table, 4);
    put_table_byte(table, DW_OP_eq);
    found = put_expression_jump(table, DW_OP_bra);
    put_table_byte(table, DW_OP_swap);
    put_add(table, sizeof(struct trace_frame));
    put_table_byte(table, DW_OP_swap);
    again = put_expression_jump(table, DW_OP_skip);
    lead(again, compare);
    lead(unused, table->at);
    lead(outside, table->at);
    put_add(table, sizeof(struct trace_lane));
    put_table_byte(table, DW_OP_dup);
    put_constant(table, lanes + head->lanes * sizeof(struct trace_lane));
    put_table_byte(table, DW_OP_lt);
    more = put_expression_jump(table, DW_OP_bra);
    lead(more, lane);
    put_constant(table, zero);
    done = put_expression_jump(table, DW_OP_skip);
    lead(found, table->at);
    put_table_byte(table, DW_OP_drop); /* leaves the frame, which begins with the return address */
    lead(done, table->at);
}

/* Entries begin with their length. */
static uint8_t *begin_entry(struct table *table)
{
    table->at += 4;
    return table->at;
}

static void end_entry(struct table *table, uint8_t *begin)
{
    uint32_t length;

    while ((table->at - begin) % 8 != 4)
        put_table_byte(table, DW_CFA_nop);
    length = (uint32_t)(table->at - begin);
    memcpy(begin - 4, &length, sizeof length);
}

static uint8_t *put_common(struct table *table)
{
    uint8_t *const entry = begin_entry(table);

    put_bytes(table, "\0\0\0\0\1zR", 8); /* its id, version 1, augmentation */
    put_table_byte(table, 1);            /* code alignment */
    put_table_byte(table, 0x78);         /* data alignment: -8 */
    put_table_byte(table, RETURN_ADDRESS);
    put_table_byte(table, 1); /* bytes of augmentation */
    put_table_byte(table, DW_EH_PE_absptr);
    /* Unwinders distinguish frames by their canonical addresses. A trampoline's would equal its
     * caller's, so it is the slot, eight bytes lower, and rsp has a rule of its own. */
    put_table_byte(table, DW_CFA_def_cfa_sf);
    put_table_byte(table, RSP);
    put_table_byte(table, 1); /* times the data alignment */
    put_table_byte(table, DW_CFA_val_offset_sf);
    put_table_byte(table, RSP);
    put_table_byte(table, 0x7f); /* -1 */
    end_entry(table, entry);
    return entry;
}

size_t unwind_table_write(uint8_t out[UNWIND_TABLE_SIZE], const struct trace_head *head,
                          uint64_t begin, uint64_t size, uint64_t zero)
{
    struct table table = {out, out};
    const uint8_t *const common = put_common(&table);
    uint8_t *const entry = begin_entry(&table), *length;
    const uint32_t distance = (uint32_t)(entry - (common - 4)), end = 0;

    put_bytes(&table, &distance, sizeof distance);
    put_table_word(&table, begin);
    put_table_word(&table, size);
    put_table_byte(&table, 0); /* bytes of augmentation */
    put_table_byte(&table, DW_CFA_expression);
    put_table_byte(&table, RETURN_ADDRESS);
    length = table.at;
    table.at += 2;
    put_search(&table, head, zero);
    length[0] = (uint8_t)(0x80 | ((table.at - length - 2) & 0x7f));
    length[1] = (uint8_t)((table.at - length - 2) >> 7);
    end_entry(&table, entry);
    put_bytes(&table, &end, sizeof end);
    return (size_t)(table.at - out);
}
