/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_PLATFORM_H
#define GASPIPE_WORKER_XS_XS_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How deep XS's parsers recur, counted in levels. The build includes this header in all of XS
 * (scripts/xs.mk); worker/xs/patches/counted-depth.patch says where a level begins.
 *
 * A level takes at most 500 bytes of the C stack in the JavaScript parser, 300 in a walk over the
 * tree, 250 for a regular expression, whose parser may run at the end of the other one.
 */
enum {
    XS_DEPTH_MAX = 262144,           /* levels: one more is a "stack overflow" */
    XS_DEPTH_NOTED = 4096,           /* more than that many have used memory worth giving back */
    XS_PARSER_BYTES_MAX = 512 << 20, /* of the parser's memory: one more is a "heap overflow" */
};

struct xs_depth {
    int32_t levels; /* now */
    int32_t next;   /* above it, xs_depth_is_over() decides; at first XS_DEPTH_NOTED */
};

/* Returns true if there are too many levels. Notes that there are many. */
bool xs_depth_is_over(struct xs_depth *depth);

/* Returns true if there have been many since the last call. */
bool xs_depth_take_note(void);

static inline void xs_depth_leave(struct xs_depth *const *depth)
{
    (*depth)->levels--;
}

/*
 * One level more until the block ends; does FAIL, which must not return, when that is one too many.
 * A jump out of the block leaves the count as it is: FAIL ends all that the count is for.
 */
#define xs_depth_level(DEPTH, FAIL)                                                                \
    struct xs_depth *const xs_depth_here __attribute__((cleanup(xs_depth_leave))) = (DEPTH);       \
    if (__builtin_expect(++xs_depth_here->levels > xs_depth_here->next, 0) &&                      \
        xs_depth_is_over(xs_depth_here))                                                           \
    FAIL

/*
 * A machine's meter as a clock for tracers (trace/agent/clock.c): while one runs, the variable
 * gastrace_computrons points to it, which they find by its symbol. It is not exported: that would
 * change the dynamic linker's work, which is counted.
 */
void xs_trace_clock_begin(void *machine);
void xs_trace_clock_end(void);

#endif
