/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_COSTS_COST_TABLE_H
#define GASPIPE_METER_COSTS_COST_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The cost of each instruction, by LLVM's names; default.table explains the format. This file does
 * not depend on LLVM. */

/* The bytes that are charged in addition to the fixed cost, one unit per `bytes_per_unit`: */
enum cost_bytes {
    COST_FIXED,    /* nothing */
    COST_ARGUMENT, /* the number that argument `first` has */
    COST_RESULT,   /* the number that the call returns */
    COST_STRING,   /* the length of the string `first` */
    COST_PAIR,     /* the lengths of the strings `first` and `second` */
    COST_APPEND,   /* likewise, but `second` counts at most argument `third` */
    COST_TEXT,     /* the length of the string `first`, at most argument `second` */
    COST_REACH,    /* from pointer `first` to the returned one, or the string's length if NULL */
    COST_STRINGS,  /* the length of the common prefix of the strings `first` and `second` */
    COST_LIMITED,  /* likewise, but at most argument `third` */
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

/* Parses a table. Messages call it `name`. Copies the text. Returns 0, or -1 with ERROR_INPUT and
 * the line. After success, call cost_table_free(). */
int cost_table_parse(struct cost_table *table, const char *name, const char *text, size_t length,
                     struct error *error);

void cost_table_free(struct cost_table *table);

/* Returns the cost of an instruction with this name. */
uint32_t cost_of_instruction(const struct cost_table *table, const char *name);

/* Returns the entry with the longest prefix of an intrinsic's name; NULL if none matches. */
const struct cost *cost_of_intrinsic(const struct cost_table *table, const char *name);

/* Returns the entry of a libc function; NULL if its calls are not charged. */
const struct cost *cost_of_call(const struct cost_table *table, const char *name);

#endif
