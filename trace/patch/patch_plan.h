/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_PATCH_PLAN_H
#define GASPIPE_TRACE_PATCH_PATCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option/option.h"
#include "trace/memory.h"
#include "trace/patch/module_code.h"

/* The functions to trace, by patterns of their names as in glob(7), and by their places. Borrowed.
 */
struct trace_choice {
    struct option_list functions; /* empty: all */
    struct option_list without;   /* exceptions */
    struct option_list values;    /* whose arguments and results are recorded; also traced */
    uint32_t argument_count;      /* of each of these, at most TRACE_ARGUMENTS_MAX */
    bool calls;                   /* library calls, too */
    uint64_t leaf_size;           /* leave out functions of fewer bytes that call nothing */
    /* Returns true for a function, at an address in a module's file, to trace; NULL: all. */
    bool (*is_wanted)(void *context, const char *module, uint64_t address);
    void *context;
};

/* A function with a number. */
struct planned_function {
    const char *name;       /* owned by the plan; a library's ends in "@plt" */
    unsigned module;        /* in the head */
    uint64_t address, size; /* in its file */
    uint64_t trampoline;    /* its offset in the shared file */
    size_t length;          /* of that, without the body */
};

/* The traced functions of a process, and the outcome for the others. */
struct patch_plan {
    struct planned_function *functions; /* functions[i] has the number i + 1 */
    size_t count, capacity;
    size_t outcomes[TRACE_OUTCOMES];  /* functions of the program by their outcome */
    char *modules[TRACE_MODULES_MAX]; /* their files; owned */
    char build_ids[TRACE_MODULES_MAX][41];
    unsigned module_count;
};

/*
 * Fills regions, patches and calls of a process that its agent has described. `memory` is the whole
 * shared file, `size` bytes; `program` is the file that the process executes. Checks the head. 0,
 * or -1 with ERROR_INPUT or ERROR_SYSTEM. Free the plan in any case.
 */
int patch_plan_make(struct patch_plan *plan, void *memory, size_t size, const char *program,
                    const struct trace_choice *choice, struct error *error);
void patch_plan_free(struct patch_plan *plan);

#endif
