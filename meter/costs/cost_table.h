/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_COSTS_COST_TABLE_H
#define GASPIPE_METER_COSTS_COST_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The cost of each instruction, by LLVM's names; default.table explains the format. This file does
 * not depend on LLVM. */

/* The longest row charges by two things. */
#define COST_TERMS_MAX     2
#define COST_ARGUMENTS_MAX 3

/* A way to find how many bytes a call touches; one unit is charged for each `bytes_per_unit`. The
 * run-time part has the readers (meter/runtime/strings.h). They get the call's arguments, and last
 * what it returned, if that is needed. */
struct cost_kind {
    const char *word;      /* in the table */
    const char *arguments; /* a letter for each: 'p' a pointer, 'n' a number, 's' a size_t */
    char result;    /* the same, or 'i' an int; 0: charged before the call, by its arguments only */
    bool compares;  /* the equal part is charged, and the call compares the rest */
    bool is_format; /* charged only if it is not a constant */
    const char *mark;   /* a reader called before the call; `reader` gets its result last */
    const char *reader; /* NULL: the argument or result is the number */
};

struct cost_term {
    const struct cost_kind *kind;
    uint32_t arguments[COST_ARGUMENTS_MAX];
};

struct cost {
    const char *name; /* owned by the table */
    size_t name_length;
    uint32_t fixed;
    bool leaves;    /* may wait, end the process or call other code: the count must be exact then */
    bool uncounted; /* its work depends on more than its arguments and result */
    size_t term_count;
    struct cost_term terms[COST_TERMS_MAX];
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
