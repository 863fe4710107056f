/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/unwind_table.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

#include "trace/memory.h"

enum { RSP = 7, RETURN_ADDRESS = 16 };

struct table {
    uint8_t *begin, *at;
};

static void put_byte(struct table *table, unsigned byte)
{
    *table->at++ = (uint8_t)byte;
}

static void put_bytes(struct table *table, const void *bytes, size_t length)
{
    memcpy(table->at, bytes, length);
    table->at += length;
}

static void put_word(struct table *table, uint64_t word)
{
    put_bytes(table, &word, sizeof word);
}

static void put_constant(struct table *table, uint64_t number)
{
    put_byte(table, DW_OP_const8u);
    put_word(table, number);
}

static void put_add(struct table *table, uint64_t number)
{
    put_byte(table, DW_OP_plus_uconst);
    for (; number >= 0x80; number >>= 7)
        put_byte(table, 0x80 | (number & 0x7f));
    put_byte(table, (unsigned)number);
}

/* A jump whose target is told later. */
static uint8_t *put_jump(struct table *table, unsigned operation)
{
    put_byte(table, operation);
    table->at += 2;
    return table->at;
}

static void lead(uint8_t *behind, const uint8_t *target)
{
    const int16_t distance = (int16_t)(target - behind);

    memcpy(behind - sizeof distance, &distance, sizeof distance);
}

static void put_load(struct table *table, uint64_t offset)
{
    if (offset > 0)
        put_add(table, offset);
    put_byte(table, DW_OP_deref);
}

/*
 * With the slot on the stack of the expression: the address of the frame that has its return
 * address. For each lane in use, from its lowest frame up to its top:
 *
 *   slot lane             at `next`
 *   slot lane frame end   at `compare`
 */
static void put_search(struct table *table, const struct trace_head *head, uint64_t zero)
{
    const uint64_t lanes = head->mapped_at + head->lanes_at;
    uint8_t *used, *unused, *inside, *outside, *found, *again, *more, *done;
    const uint8_t *lane, *compare;

    /* libgcc's DW_OP_pick does not reach the lowest element: one more lies below. */
    put_byte(table, DW_OP_dup);
    put_constant(table, lanes);
    lane = table->at;
    put_byte(table, DW_OP_dup);
    put_load(table, offsetof(struct trace_lane, shadow));
    put_byte(table, DW_OP_over);
    put_load(table, offsetof(struct trace_lane, shadow_top));
    put_byte(table, DW_OP_dup);
    used = put_jump(table, DW_OP_bra);
    put_byte(table, DW_OP_drop);
    put_byte(table, DW_OP_drop);
    unused = put_jump(table, DW_OP_skip);
    lead(used, table->at);
    put_load(table, 0);
    compare = table->at;
    put_byte(table, DW_OP_over);
    put_byte(table, DW_OP_over);
    put_byte(table, DW_OP_lt);
    inside = put_jump(table, DW_OP_bra);
    put_byte(table, DW_OP_drop);
    put_byte(table, DW_OP_drop);
    outside = put_jump(table, DW_OP_skip);
    lead(inside, table->at);
    put_byte(table, DW_OP_over);
    put_load(table, offsetof(struct trace_frame, slot));
    put_byte(table, DW_OP_pick);
    put_byte(table, 4);
    put_byte(table, DW_OP_eq);
    found = put_jump(table, DW_OP_bra);
    put_byte(table, DW_OP_swap);
    put_add(table, sizeof(struct trace_frame));
    put_byte(table, DW_OP_swap);
    again = put_jump(table, DW_OP_skip);
    lead(again, compare);
    lead(unused, table->at);
    lead(outside, table->at);
    put_add(table, sizeof(struct trace_lane));
    put_byte(table, DW_OP_dup);
    put_constant(table, lanes + head->lanes * sizeof(struct trace_lane));
    put_byte(table, DW_OP_lt);
    more = put_jump(table, DW_OP_bra);
    lead(more, lane);
    put_constant(table, zero);
    done = put_jump(table, DW_OP_skip);
    lead(found, table->at);
    put_byte(table, DW_OP_drop); /* the end: the frame, which begins with the address, is left */
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
        put_byte(table, DW_CFA_nop);
    length = (uint32_t)(table->at - begin);
    memcpy(begin - 4, &length, sizeof length);
}

static uint8_t *put_common(struct table *table)
{
    uint8_t *const entry = begin_entry(table);

    put_bytes(table, "\0\0\0\0\1zR", 8); /* its id, version 1, augmentation */
    put_byte(table, 1);                  /* code alignment */
    put_byte(table, 0x78);               /* data alignment: -8 */
    put_byte(table, RETURN_ADDRESS);
    put_byte(table, 1); /* bytes of augmentation */
    put_byte(table, DW_EH_PE_absptr);
    /* Unwinders know frames apart by their canonical addresses. The trampoline's would be its
     * caller's, so it is the slot, eight bytes lower, and rsp is told apart from it. */
    put_byte(table, DW_CFA_def_cfa_sf);
    put_byte(table, RSP);
    put_byte(table, 1); /* times the data alignment */
    put_byte(table, DW_CFA_val_offset_sf);
    put_byte(table, RSP);
    put_byte(table, 0x7f); /* -1 */
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
    put_word(&table, begin);
    put_word(&table, size);
    put_byte(&table, 0); /* bytes of augmentation */
    put_byte(&table, DW_CFA_expression);
    put_byte(&table, RETURN_ADDRESS);
    length = table.at;
    table.at += 2;
    put_search(&table, head, zero);
    length[0] = (uint8_t)(0x80 | ((table.at - length - 2) & 0x7f));
    length[1] = (uint8_t)((table.at - length - 2) >> 7);
    end_entry(&table, entry);
    put_bytes(&table, &end, sizeof end);
    return (size_t)(table.at - out);
}
