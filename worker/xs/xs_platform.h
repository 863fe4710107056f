/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_PLATFORM_H
#define GASPIPE_WORKER_XS_XS_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Limits the depth of XS's parsers, counted in levels. The build includes this header
 * everywhere in XS (scripts/xs.mk), and worker/xs/patches/counted-depth.patch marks the
 * levels. A level takes at most 500 bytes of the C stack in the JavaScript parser, 300 in a
 * walk over the tree, and 250 for a regular expression, whose parser may run at the end of
 * the other one.
 */
enum {
    XS_DEPTH_MAX = 262144,           /* levels: one more is a "stack overflow" */
    XS_DEPTH_NOTED = 4096,           /* above that, the memory used is worth giving back */
    XS_PARSER_BYTES_MAX = 512 << 20, /* of the parser's memory: one more is a "heap overflow" */
};

struct xs_depth {
    int32_t levels; /* now */
    int32_t next;   /* above it, xs_depth_is_over() decides; at first XS_DEPTH_NOTED */
};

/* Returns true if there are too many levels; notes if there are many. */
bool xs_depth_is_over(struct xs_depth *depth);

/* Returns true if there were many levels since the last call. */
bool xs_depth_take_note(void);

static inline void xs_depth_leave(struct xs_depth *const *depth)
{
    (*depth)->levels--;
}

/*
 * Counts a level until the block ends; does FAIL, which must not return, if that is one too
 * many. A jump out of the block leaves the count unchanged, so FAIL must end everything that
 * is counted.
 */
#define xs_depth_level(DEPTH, FAIL)                                                                \
    struct xs_depth *const xs_depth_here __attribute__((cleanup(xs_depth_leave))) = (DEPTH);       \
    if (__builtin_expect(++xs_depth_here->levels > xs_depth_here->next, 0) &&                      \
        xs_depth_is_over(xs_depth_here))                                                           \
    FAIL

/*
 * Makes a machine's meter a clock for tracers (trace/agent/clock.c). During a trace the
 * variable gastrace_computrons points to it; tracers find it by its symbol. It is not
 * exported, because that would change the dynamic linker's work, which is counted.
 */
void xs_trace_clock_begin(void *machine);
void xs_trace_clock_end(void);

#endif
