/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_NATIVE_PROFILE_H
#define GASPIPE_SUPERVISOR_PROFILE_NATIVE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/profile/profile.h"
#include "counter/profile_stream.h"

/*
 * Parses the regions that a worker's counter writes (counter/profile_stream.h). It is fed bytes,
 * cut anywhere, and does no I/O. A worker can write anything: all numbers are checked.
 */

/* The beginning of a sequence of instructions, or the return address of a chain's last call. */
struct region_place {
    uint64_t offset;
    uint32_t file;   /* index into the stream's files; REGION_NO_FILE */
    uint32_t caller; /* of a chain; smaller than its own number */
    uint32_t length; /* of a sequence, in instructions; of a chain, in calls; 0: not reported */
    /* For the reader's use, all 0 at first. */
    uint32_t function;
    bool begins_function;
    uint32_t first_run, run_count; /* of its lines; 0: not looked up */
};

#define REGION_NO_FILE UINT32_MAX

struct region_places {
    struct region_place *items; /* owned; by number */
    size_t count, capacity;
};

/* A region that was read. */
struct region {
    struct region *next;
    struct profile_stream_region totals;
    size_t cell_count;
    struct profile_stream_cell cells[]; /* of chains and places that the stream has */
};

/* All zeros: nothing was fed. */
struct region_stream {
    struct buf bytes; /* of a record that is not whole */
    char **files;     /* paths; owned, as each of them */
    size_t file_count, file_capacity;
    struct region_places sequences, chains; /* chain 0 has no calls */
    struct region *regions, **last;         /* in their order; owned */
    int32_t process;                        /* its ID; 0: not reported */
};

/* -1 with ERROR_INPUT for what no counter writes, or ERROR_SYSTEM. */
int region_stream_feed(struct region_stream *stream, const void *bytes, size_t length,
                       struct error *error);

/* Removes and frees the regions up to this one; NULL: all. */
void region_stream_forget(struct region_stream *stream, const struct region *upto);

void region_stream_free(struct region_stream *stream);

/* The functions and lines of the files that workers execute, each looked up once. All zeros: none
 * is known. */
struct native_code {
    struct profile_function *functions; /* by number; their costs are unused */
    struct profile_line *lines;         /* by number, of functions by number */
    struct native_run *runs;            /* consecutive instructions of one line */
    struct native_file *files;
    size_t function_count, function_capacity, line_count, line_capacity;
    size_t run_count, run_capacity, file_count, file_capacity, place_count;
    struct pair_table places;       /* from (function, line, file) to a place, from 1 */
    struct pair_table line_numbers; /* from (place, function inlined there) to a line, from 1 */
    struct profile_texts texts;
};

void native_code_free(struct native_code *code);

/*
 * Makes a profile of a worker's region, summed up. A node's calls are the executions of its
 * function's first instruction. It borrows texts from `code`. 0, or -1 with ERROR_SYSTEM if out of
 * memory. To be closed in any case.
 */
int native_profile_make(struct profile *profile, struct region_stream *stream,
                        const struct region *region, struct native_code *code, struct error *error);

#endif
