/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_RUNTIME_PROFILE_H
#define GASPIPE_METER_RUNTIME_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* Counts units by call chain and by line, for code compiled with --meter=--profile. All threads
 * share one call tree, which grows without locks. Its memory is separate, so that the program's
 * allocations keep their addresses. */

/* Records in metered code; meter/pass/placement.c builds them. */
struct profile_function {
    const char *name;
    const char *file; /* NULL: unknown */
    uint64_t line;    /* its first line; 0: unknown */
    uint64_t number;  /* from 1, set at the first call; 0: never called */
};

struct profile_line {
    struct profile_function *function;
    const char *file; /* NULL: unknown */
    uint64_t line;    /* 0: unknown */
    _Atomic uint64_t units;
    struct profile_line *next; /* in the list of lines with units */
};

/* A function in one call chain. */
struct profile_node;

/* Metered code calls these. */
struct profile_node *gasmeter_profile_enter(struct profile_function *function);
void gasmeter_profile_add(struct profile_node *node, struct profile_line *line, uint64_t units);
void gasmeter_profile_call(struct profile_node *node);
void gasmeter_profile_return(struct profile_node *node);

/* The caller of what this thread enters next. A signal handler must save and restore it. */
struct profile_node *profile_caller(void);
void profile_set_caller(struct profile_node *before);

/* Resets everything, as in the child of a fork. */
void profile_restart(void);

/* Forgets all records, because their code is unloaded or replaced. No other thread may run it. */
void gasmeter_profile_forget(void);

/*
 * Appends the profile of the process to the file that GASMETER_PROFILE names:
 *
 *   process COST PROGRAM
 *   function NUMBER LINE NAME FILE              before lines that use NUMBER
 *   stack NUMBER PARENT FUNCTION CALLS UNITS    after its parent; 0: no parent
 *   line FUNCTION LINE UNITS FILE
 *
 * Numbers begin at 1. '?' replaces blanks and control bytes in words. FILE is
 * "-" if unknown. Does nothing without GASMETER_PROFILE. Safe in signal
 * handlers.
 */
void profile_write(uint64_t cost);

/*
 * With GASMETER_REGIONS=N, writes a profile of each stopped region to the
 * descriptor N:
 *
 *   region BEGAN ENDED COST PID PROGRAM         nanoseconds of CLOCK_MONOTONIC
 *   function, stack and line as above, for the region
 *   end
 *
 * Code outside of regions does not count then. One region at a time.
 */
void profile_region_start(bool of_process);
void profile_region_pause(bool of_process);
void profile_region_resume(bool of_process);
void profile_region_stop(bool of_process, uint64_t cost);

#endif
