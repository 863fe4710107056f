/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_MARKS_H
#define GASPIPE_COUNTER_QEMU_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/gasmark.h"

/*
 * The marks of gasmark.h, seen from the counter: which system call is a mark, and
 * what a mark does to the regions of the threads.
 */

/*
 * To be called once, before all others, and after tally_begin(), whose lock is
 * taken within the one of this module.
 */
void marks_begin(void);

/* The precision that is reported to a program that asks. */
void marks_set_precision(enum gasmark_precision precision);

/* Limits the whole program, from its first instruction on, in addition to the limits of marks. */
void marks_limit_program(uint64_t instructions);

/* A thread with this index begins, without a region, a limit or a scope of its own. */
void marks_thread_began(unsigned thread);

/*
 * Returns true if the system call was a mark, which is then done. A mark that takes a
 * region's end above its limit ends the process with GASMARK_EXIT_LIMIT.
 */
bool marks_handle(unsigned thread, int64_t number, uint64_t descriptor, uint64_t buffer,
                  uint64_t size);

/* The thread begins a system call that is not a mark. */
void marks_note_call(unsigned thread, int64_t number);

/* Ends the process if the whole program is above its limit. */
void marks_check_program(void);

#endif
