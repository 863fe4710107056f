/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_RUNTIME_PROFILE_H
#define GASPIPE_METER_RUNTIME_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Units by chain of calls and by line, of code that was compiled with --meter=--profile. The
 * tree of calls is one for all threads and grows without locks, in memory of its own, so that the
 * program's own allocations stay where they were.
 */

/* Records in metered code, as meter/pass/placement.c makes them. */
struct profile_function {
    const char *name;
    const char *file; /* NULL: not known */
    uint64_t line;    /* where it begins; 0: not known */
    uint64_t number;  /* from 1, when it was first called; 0: never */
};

struct profile_line {
    struct profile_function *function;
    const char *file; /* NULL: not known */
    uint64_t line;    /* 0: not known */
    _Atomic uint64_t units;
    struct profile_line *next; /* of those that have units */
};

/* A function as called by the chain of its parents. */
struct profile_node;

/* Called by metered code. */
struct profile_node *gasmeter_profile_enter(struct profile_function *function);
void gasmeter_profile_add(struct profile_node *node, struct profile_line *line, uint64_t units);
void gasmeter_profile_call(struct profile_node *node);
void gasmeter_profile_return(struct profile_node *node);

/* Who is the caller of what this thread enters next: kept while a signal handler runs. */
struct profile_node *profile_caller(void);
void profile_set_caller(struct profile_node *before);

/* Everything is zero again, as in the child of a fork. */
void profile_restart(void);

/* Forgets all records, whose code is unloaded or becomes new. Only while nobody else runs any. */
void gasmeter_profile_forget(void);

/*
 * Appends the profile of the process to the file that GASMETER_PROFILE names, if it does:
 *
 *   process COST PROGRAM
 *   function NUMBER LINE NAME FILE             before it is named below
 *   stack NUMBER PARENT FUNCTION CALLS UNITS   behind its parent; 0: nobody
 *   line FUNCTION LINE UNITS FILE
 *
 * Numbers begin at 1. Words have neither blanks nor control bytes, '?' stands for these; FILE is -
 * when not known. Safe in signal handlers.
 */
void profile_write(uint64_t cost);

/*
 * With GASMETER_REGIONS=N, a profile of each region that is stopped is written to the descriptor N:
 *
 *   region BEGAN ENDED COST PID PROGRAM   nanoseconds of CLOCK_MONOTONIC
 *   function, stack and line as above, of what was done in the region
 *   end
 *
 * Nothing else counts then. One region at a time.
 */
void profile_region_start(bool of_process);
void profile_region_pause(bool of_process);
void profile_region_resume(bool of_process);
void profile_region_stop(bool of_process, uint64_t cost);

#endif
