/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASMETER_H
#define GASMETER_H

#include <stdint.h>

/*
 * The program's interface to the meter that gaspipe-cc compiles in. The header needs no other file.
 * gaspipe-cc links the run-time part; code that other compilers compile too tests for
 * __GASPIPE_METER__ first.
 *
 * A unit is about one LLVM instruction and the same number on every machine
 * (docs/compiled-meter.md). The meter flushes its count before each call, so these functions return
 * a count that includes the whole basic block of their call.
 */
#ifdef __cplusplus
extern "C" {
#endif

/* The exit status of a process that has spent its budget. */
#define GASMETER_EXIT_SPENT 30

/* Means "no number", e.g. no budget. */
#define GASMETER_NONE UINT64_MAX

/* Returns the units that the calling thread used since it began. */
uint64_t gasmeter_read(void);

/* Returns the units of all threads of the process, including ended ones. Exact while no other
 * thread runs. */
uint64_t gasmeter_read_process(void);

/* Gives the calling thread a new budget of `units`; GASMETER_NONE removes the budget. At the first
 * flush past it, the process exits with GASMETER_EXIT_SPENT, or calls the function that
 * gasmeter_on_spent() set. */
void gasmeter_budget(uint64_t units);

/* Returns the rest of the calling thread's budget; GASMETER_NONE without one. */
uint64_t gasmeter_left(void);

/* Sets a function that the calling thread runs when its budget is spent; NULL: exit. `spent` is
 * called from metered code, without a budget. It may set a new budget and return, or leave with
 * longjmp(). */
void gasmeter_on_spent(void (*spent)(void *argument), void *argument);

enum gasmeter_end {
    GASMETER_RETURNED = 0, /* the turn returned */
    GASMETER_SPENT = 1,    /* it was stopped because the budget is spent */
};

/* Calls turn(argument) with a budget. *cost (may be NULL) receives its units. A stopped turn is
 * left as by longjmp(): destructors of its C++ objects do not run, and its locks stay locked. Turns
 * may nest; an outer budget also limits the inner turns. */
enum gasmeter_end gasmeter_turn(uint64_t units, void (*turn)(void *argument), void *argument,
                                uint64_t *cost);

/* Regions of the calling thread, as in gasmark.h. gasmeter_start() begins at zero, even if a region
 * is open. gasmeter_stop() ends the region and returns its units, 0 if none was open. Code between
 * gasmeter_pause() and gasmeter_resume() does not count. gasmeter_peek() returns the units so far.
 * The line of GASMETER_OUT lists each stopped region. A program with gasmark.h's marks does not
 * need these: gaspipe-cc makes its marks open these regions too. */
void gasmeter_start(void);
uint64_t gasmeter_stop(void);
void gasmeter_pause(void);
void gasmeter_resume(void);
uint64_t gasmeter_peek(void);

/* gasmark.h's marks call this if gaspipe-cc compiles them. */
void gasmeter_mark(unsigned mark, void *buffer, unsigned long size);

#ifdef __cplusplus
}
#endif

#endif
