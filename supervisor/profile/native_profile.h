/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_NATIVE_PROFILE_H
#define GASPIPE_SUPERVISOR_PROFILE_NATIVE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/profile/profile.h"
#include "supervisor/profile/region_stream.h"

/* The functions and lines of the files that workers execute, each looked up once. All zeros: none
 * is known. */
struct native_code {
    struct profile_function *functions; /* by number; their costs are unused */
    struct profile_line *lines;         /* by number, of functions by number */
    struct native_run *runs;            /* instructions one after the other of one line */
    struct native_file *files;
    size_t function_count, function_capacity, line_count, line_capacity;
    size_t run_count, run_capacity, file_count, file_capacity, place_count;
    struct pair_table places;       /* from function and line, and file, to a place, from 1 */
    struct pair_table line_numbers; /* from a place and the function inlined there to the number
                                     * of the line, from 1 */
    struct profile_texts texts;
};

void native_code_free(struct native_code *code);

/*
 * A region of a worker as a profile, summed up. The calls of a node are how often its function's
 * first instruction was executed. It borrows texts from `code`. 0, or -1 with ERROR_SYSTEM without
 * memory. To be closed in any case.
 */
int native_profile_make(struct profile *profile, struct region_stream *stream,
                        const struct region *region, struct native_code *code, struct error *error);

#endif
