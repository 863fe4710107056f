/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_MARKS_H
#define GASPIPE_COUNTER_QEMU_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/gasmark.h"

/* Handles the marks of gasmark.h in the counter: recognizes the system calls that are marks and
 * starts and stops the regions of the threads. */

/* Call this once, before all others and after tally_begin(): this module takes the tally's lock
 * while it holds its own. */
void marks_begin(void);

/* Sets the precision that GASMARK_HELLO returns. */
void marks_set_precision(enum gasmark_precision precision);

/* Limits the whole program from its first instruction, in addition to the limits of marks. */
void marks_limit_program(uint64_t instructions);

/* A thread with this index begins. It has no region, limit or scope yet. */
void marks_thread_began(unsigned thread);

/* Returns true if the system call was a mark, after handling it. If the region has passed its
 * limit, this ends the process with GASMARK_EXIT_LIMIT. */
bool marks_handle(unsigned thread, int64_t number, uint64_t descriptor, uint64_t buffer,
                  uint64_t size);

/* The thread begins a system call that is not a mark. */
void marks_note_call(unsigned thread, int64_t number);

/* Ends the process if the whole program has passed its limit. */
void marks_check_program(void);

#endif
