/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASMETER_H
#define GASMETER_H

#include <stdint.h>

/*
 * The meter that gaspipe-cc compiles into a program, seen from the program. The header
 * stands alone. Programs that include it are linked by gaspipe-cc, which adds the run-time
 * part; those that are to be compiled by others too look for __GASPIPE_METER__ first.
 *
 * A unit is what docs/compiled-meter.md says: about an instruction of LLVM, and the same
 * number of them on every machine. Counts are brought up to date before each call, so what is
 * read here includes all of the block from which it is read.
 */
#ifdef __cplusplus
extern "C" {
#endif

/* The exit status of a process that ends because its budget is spent. */
#define GASMETER_EXIT_SPENT 30

/* In place of a number: there is none. */
#define GASMETER_NONE UINT64_MAX

/* What the calling thread has used since it began. */
uint64_t gasmeter_read(void);

/* What all threads of the process have used, those that have ended too. Exact while no other
 * thread runs. */
uint64_t gasmeter_read_process(void);

/*
 * Gives the calling thread a budget: at the first flush at which it has used more than
 * `units` from now on, the process ends with status GASMETER_EXIT_SPENT, or what
 * gasmeter_on_spent() says happens. Replaces the budget before; GASMETER_NONE takes it away.
 */
void gasmeter_budget(uint64_t units);

/* What is left of the calling thread's budget; GASMETER_NONE without one. */
uint64_t gasmeter_left(void);

/*
 * What the calling thread does, in place of ending, when its budget is spent; NULL: it ends.
 * `spent` is called in the middle of metered code and without a budget. It may set a new
 * one and return, or leave with longjmp().
 */
void gasmeter_on_spent(void (*spent)(void *argument), void *argument);

enum gasmeter_end {
    GASMETER_RETURNED = 0, /* the turn came to its end */
    GASMETER_SPENT = 1,    /* it was stopped: the budget is spent */
};

/*
 * Calls turn(argument) with a budget. *cost, which may be NULL, gets what it used. A turn
 * that is stopped is left as by longjmp(): destructors of its C++ objects do not run, locks
 * that it holds stay locked. Turns may be nested; the outer one's budget holds for the inner one.
 */
enum gasmeter_end gasmeter_turn(uint64_t units, void (*turn)(void *argument), void *argument,
                                uint64_t *cost);

/*
 * Regions of the calling thread, as in gasmark.h: start begins at zero, also when one was
 * open; stop ends it and returns its units, 0 when none was open; between pause and resume
 * nothing counts; peek returns the units so far. Each region that is stopped is told in
 * the line of GASMETER_OUT. A program that has gasmark.h's marks needs none of these: compiled
 * by gaspipe-cc, its marks make these regions too.
 */
void gasmeter_start(void);
uint64_t gasmeter_stop(void);
void gasmeter_pause(void);
void gasmeter_resume(void);
uint64_t gasmeter_peek(void);

/* gasmark.h's marks, when gaspipe-cc compiles it. */
void gasmeter_mark(unsigned mark, void *buffer, unsigned long size);

#ifdef __cplusplus
}
#endif

#endif
