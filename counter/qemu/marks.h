/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_MARKS_H
#define GASPIPE_COUNTER_QEMU_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/gasmark.h"

/*
 * Looks now and then whether a region has passed its limit, and ends the
 * process with GASMARK_EXIT_LIMIT if so. It sleeps while no region is limited,
 * and costs the counted code nothing.
 */

/*
 * To be called once, before all others. instructions_left() tells how many instructions the
 * process may still execute, at least, before some region passes its limit; 0: one has passed
 * it; UINT64_MAX: nothing is limited. It is called on any thread.
 */
void watchdog_begin(uint64_t (*instructions_left)(void));

/* To be called after a region with a limit has begun to run. */
void watchdog_wake(void);

/* Ends the process: says why on stderr and exits with GASMARK_EXIT_LIMIT. */
_Noreturn void watchdog_over_limit(void);

/*
 * The marks of gasmark.h, seen from the counter: which syscall is a mark, and
 * what a mark does to the regions of the threads.
 */

/*
 * To be called once, before all others, and after tally_begin(), whose lock is
 * taken within the one of this module.
 */
void marks_begin(void);

/* What a program that asks is told. */
void marks_set_precision(enum gasmark_precision precision);

/* Limits the whole program, from its first instruction on, beside what marks ask for. */
void marks_limit_program(uint64_t instructions);

/* A thread with this index begins, without a region, a limit or a scope of its own. */
void marks_thread_began(unsigned thread);

/*
 * Whether the syscall is a mark; if so, it has been obeyed. A mark that takes a
 * region's end above its limit ends the process with GASMARK_EXIT_LIMIT.
 */
bool marks_handle(unsigned thread, int64_t number, uint64_t descriptor, uint64_t buffer,
                  uint64_t size);

/* The thread begins a syscall that is no mark. */
void marks_note_call(unsigned thread, int64_t number);

/* Ends the process when the whole program is above its limit. */
void marks_check_program(void);

#endif
