/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_COSTS_COST_TABLE_H
#define GASPIPE_METER_COSTS_COST_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * What each instruction costs (default.table says in which form a table is written). The
 * names are LLVM's; this file knows nothing of LLVM.
 */

/* What is charged beside a fixed cost: one unit for each `bytes_per_unit` bytes of ... */
enum cost_bytes {
    COST_FIXED,    /* nothing */
    COST_ARGUMENT, /* as many bytes as argument `first` says */
    COST_RESULT,   /* as many as the call returns */
    COST_STRING,   /* the string that argument `first` points to */
    COST_STRINGS,  /* as far as the strings that `first` and `second` point to are the same */
    COST_LIMITED,  /* likewise, and at most as many as argument `third` says */
};

struct cost {
    const char *name; /* owned by the table */
    size_t name_length;
    uint32_t fixed;
    enum cost_bytes bytes;
    uint32_t first;
    uint32_t second;
    uint32_t third;
};

struct cost_list {
    struct cost *costs;
    size_t count;
    size_t capacity;
};

struct cost_table {
    uint32_t version;
    uint32_t bytes_per_unit; /* at least 1 */
    char hash[65];           /* SHA-256 of the table's text, in hexadecimal */
    struct cost_list instructions;
    struct cost_list intrinsics;
    struct cost_list calls;
    char *text; /* owned; the names point into it */
};

/* The table that is built in. */
extern const char cost_table_builtin[];
extern const size_t cost_table_builtin_length;

/*
 * Reads a table. `name` is what messages call it. 0, or -1 with ERROR_INPUT that has the
 * line. The text may be given back after it. On success cost_table_free() is the caller's to call.
 */
int cost_table_parse(struct cost_table *table, const char *name, const char *text, size_t length,
                     struct error *error);

void cost_table_free(struct cost_table *table);

/* What an instruction of this name costs. */
uint32_t cost_of_instruction(const struct cost_table *table, const char *name);

/* The entry with the longest prefix of an intrinsic's name; NULL: unknown to the table. */
const struct cost *cost_of_intrinsic(const struct cost_table *table, const char *name);

/* The entry of a function of libc; NULL: not charged where it is called. */
const struct cost *cost_of_call(const struct cost_table *table, const char *name);

#endif
