/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_NATIVE_NATIVE_FUNCTIONS_H
#define GASPIPE_SUPERVISOR_PROFILE_NATIVE_NATIVE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/pair_table.h"
#include "supervisor/profile/native/native_lines.h"

/* The functions of the files that workers execute, each found once. */

struct native_function {
    const char *object;   /* the file's name without its folder, or "[generated]"; borrowed */
    char *name;           /* visible ASCII without ';'; owned */
    char *source;         /* the file in which it begins, likewise; NULL: not known */
    int line;             /* of that */
    char *inlined;        /* functions that were compiled into it, '\n' between; NULL: not known */
    const char *build_id; /* the file's, in hexadecimal; NULL: not known; borrowed */
};

struct native_file;

/* All zeros: none is known. */
struct native_functions {
    struct native_function *items; /* owned; numbers of functions are indices */
    size_t count, room;
    struct native_file *files; /* owned */
    size_t file_count, file_room;
    struct native_lines lines; /* of their code */
};

/*
 * The function that holds the byte at `offset` of the file, or of no file (NULL). *within: how far
 * behind its beginning that is. SIZE_MAX without memory.
 */
size_t native_functions_find(struct native_functions *functions, const char *path, uint64_t offset,
                             uint64_t *within);

/* The lines of a stretch of `length` instructions there, as native_lines_add() has them. */
bool native_functions_lines(struct native_functions *functions, const char *path, uint64_t offset,
                            uint32_t length, size_t function, uint32_t *first, uint32_t *count);

void native_functions_free(struct native_functions *functions);

#endif
