/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_PROFILE_H
#define GASPIPE_WORKER_XS_XS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Computrons, and instructions under the counter, by JavaScript function and line. XS calls its
 * metering callback at each function entry, return, catch and backward branch when its interval
 * is 1, with the frame and the exact meter at hand, and fxIsReadable() at each line: nothing of
 * XS's sources is changed. There is one machine in a process.
 *
 * A native function appears when it calls back into JavaScript; what it spends otherwise is its
 * caller's.
 */

/* A command runs, and a profile of it is taken: XS's interpreter looks here (xs_interpreter.h). */
extern bool xs_profile_running;

/* From now on profiles are taken. False when memory ran out. */
bool xs_profile_open(void);
void xs_profile_close(void);

/* Around a command. `machine` is an xsMachine. */
void xs_profile_begin(void *machine);
void xs_profile_end(void *machine, uint32_t computrons);

/* Within the metering callback. */
void xs_profile_check(void *machine);

/*
 * The program sets the meter: SwingSet's supervisor sets it to 0 for what shall not be metered,
 * and back. What was spent in between is not charged.
 */
void xs_profile_meter_set(void *machine, uint32_t computrons);

/* The command's computrons have been read: what runs from here on has none. */
void xs_profile_meter_read(void *machine);

/* The last command's profile, as profile_encode() writes it; NULL: none are taken. Good until
 * the next command. */
const struct buf *xs_profile_take(void);

#endif
