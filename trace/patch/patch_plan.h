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

/* Which functions are to be traced, by patterns of their names as in glob(7), and by where they
 * are. Borrowed. */
struct trace_choice {
    struct option_list functions; /* these; none are given: all */
    struct option_list without;   /* not these */
    bool calls;                   /* calls of libraries, too */
    /* Whether a function, at an address in a module's file, is one of these, too; NULL: all are. */
    bool (*is_wanted)(void *context, const char *module, uint64_t address);
    void *context;
};

/* A function that has a number. */
struct planned_function {
    const char *name;       /* owned by the plan; a library's ends in "@plt" */
    unsigned module;        /* in the head */
    uint64_t address, size; /* in its file */
    uint64_t trampoline;    /* its offset in the shared file */
    size_t length;          /* of that, without the body */
};

/* What was done about the functions of a process, to be told and read back. */
struct patch_plan {
    struct planned_function *functions; /* functions[i] has the number i + 1 */
    size_t count, capacity;
    size_t fates[TRACE_FATES];        /* functions of the program, by what became of them */
    char *modules[TRACE_MODULES_MAX]; /* their files; owned */
    char build_ids[TRACE_MODULES_MAX][41];
    unsigned module_count;
};

/*
 * Fills regions, patches and calls of a process whose agent has described itself. `memory` is the
 * shared file, mapped whole, `size` bytes long; `program` the file that the process executes.
 * What the head says is checked. 0, or -1 with ERROR_INPUT or ERROR_SYSTEM. The plan is to be
 * freed in any case.
 */
int patch_plan_make(struct patch_plan *plan, void *memory, size_t size, const char *program,
                    const struct trace_choice *choice, struct error *error);
void patch_plan_free(struct patch_plan *plan);

/* Where the tables of a head that the agent has not written in may end. */
uint32_t patch_plan_patches_max(const struct trace_head *head);
uint32_t patch_plan_calls_max(const struct trace_head *head);

#endif
