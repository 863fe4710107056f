/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_NATIVE_NATIVE_LINES_H
#define GASPIPE_SUPERVISOR_PROFILE_NATIVE_NATIVE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/pair_table.h"
#include "supervisor/count/profile/elf_symbols.h"

/* The source lines of stretches of code, each looked up once. */

struct native_line {
    size_t function; /* the number in which the instructions are */
    char *source;    /* visible ASCII without ';'; owned; NULL: not known */
    int line;
    char *inlined; /* the innermost function that was compiled in there, likewise; NULL: none */
};

/* Instructions of a stretch one behind the other that belong to a line. */
struct native_run {
    uint32_t line; /* its number */
    uint32_t count;
};

/* All zeros: none is known. */
struct native_lines {
    struct native_line *items; /* owned; numbers of lines are indices */
    size_t count, room;
    struct native_run *runs; /* owned */
    size_t run_count, run_room;
    struct pair_table known; /* from a function and line, and its source, to the number and 1 */
};

/*
 * Adds the runs of a stretch of `length` instructions at that offset of a file (NULL: of none),
 * which belong to a function: *first and *count of `runs`. False without memory.
 */
bool native_lines_add(struct native_lines *lines, struct elf_symbols *symbols, uint64_t offset,
                      uint32_t length, size_t function, uint32_t *first, uint32_t *count);

void native_lines_free(struct native_lines *lines);

#endif
