/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_PROFILE_COUNT_PROFILE_H
#define GASPIPE_SUPERVISOR_COUNT_PROFILE_COUNT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Instructions by function and by who called it, out of what the counter has
 * written (counter/qemu/code/profile.h).
 */

struct profile_function {
    char *object; /* the file's name without its folder, or "[generated]"; owned */
    char *name;   /* or "[unknown]"; owned. Both are visible ASCII without ';' */
    char *source; /* the file in which it begins, likewise; owned; NULL: not known, or not looked
                     for */
    int line;     /* of that */
    /* Borrowed; NULL: not known, or not looked for: the file's build-id, and the functions that
     * were compiled into this one, '\n' between. */
    const char *build_id, *inlined;
    uint64_t self;  /* instructions in the function itself */
    uint64_t total; /* and in all that it called, recursion counted once */
};

/* A function, called by the one of the parent, and so on. */
struct profile_stack {
    size_t parent;   /* index of a stack before; 0: nobody called it */
    size_t function; /* index */
    uint64_t self;   /* instructions in the function itself, called so */
    uint64_t calls;  /* 0: not known */
};

/* A line of a function. */
struct profile_place {
    size_t function; /* index */
    char *source;    /* visible ASCII; owned; NULL: not known */
    int line;
    const char
        *inlined; /* the function compiled in there; borrowed; NULL: none, or not looked for */
    uint64_t self;
};

struct count_profile {
    const char *unit; /* what is counted: "instructions" or "blockCost" */
    struct profile_function *functions;
    size_t function_count;
    struct profile_stack *stacks; /* the first stands for nobody */
    size_t stack_count;
    struct profile_place *places; /* of all functions, in their order, or of none */
    size_t place_count;
};

/* 0, or -1 with ERROR_INPUT (not such a file) or ERROR_SYSTEM. */
int count_profile_read(struct count_profile *profile, const char *path, struct error *error);

/*
 * Folded stacks for flame graphs, most instructions first: the outermost function
 * first, `OBJECT`FUNCTION;OBJECT`FUNCTION COUNT`, with a grave accent between
 * object and function as DTrace has it. 0, or -1 with ERROR_SYSTEM without memory.
 */
int count_profile_fold(struct buf *out, const struct count_profile *profile, struct error *error);

/*
 * JSON lines, functions and stacks with most instructions first:
 * {"kind":"object","object":O,"self":N}
 * {"kind":"function","object":O,"function":F,"self":N,"total":N}, with debug information
 *     also "file":S and "line":N, where the function begins
 * {"kind":"stack","frames":["O`F",...],"self":N}, outermost first
 * {"kind":"line","file":S,"line":N,"function":F,"self":N}, where lines are known
 * {"kind":"summary","instructions":N,"stacks":N}, or "blockCost" as the unit says
 * The `self` of each kind add up to the summary's number. 0, or -1 as above.
 */
int count_profile_json(struct buf *out, const struct count_profile *profile, struct error *error);

/*
 * The format of callgrind, version 1, for callgrind_annotate(1) and kcachegrind: lines where they
 * are known, else what is known of where functions begin. 0, or -1 as above.
 */
int count_profile_callgrind(struct buf *out, const struct count_profile *profile,
                            struct error *error);

/* Whether the stack's function is called again further out in it. */
bool count_profile_is_within_itself(const struct count_profile *profile, size_t stack);

/* Fills `self` and `total` of the functions from the stacks. 0, or -1 as above. */
int count_profile_sum(struct count_profile *profile, struct error *error);

/* A copy of a name that can stand in a folded stack and in JSON, whatever it is; NULL: no memory.
 */
char *count_profile_fit_name(const char *name);

/* A profile that is all zeros may be freed. */
void count_profile_free(struct count_profile *profile);

#endif
