/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_PROFILE_H
#define GASPIPE_WORKER_XS_XS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Profiles of computrons, and of instructions under QEMU, by JavaScript function and line.
 * With an interval of 1, XS calls its metering callback at each function entry, return,
 * catch and backward branch, and fxIsReadable() at each line; XS's sources are unchanged. A
 * process has one machine. A native function appears if it calls JavaScript; otherwise its
 * work is charged to its caller.
 */

/* A command is being profiled; XS's interpreter reads this (xs_interpreter.h). */
extern bool xs_profile_running;

/* Enables profiles. False if out of memory. */
bool xs_profile_open(void);
void xs_profile_close(void);

/* Called before and after a command. `machine` is an xsMachine. */
void xs_profile_begin(void *machine);
void xs_profile_end(void *machine, uint32_t computrons);

/* Called in the metering callback. */
void xs_profile_check(void *machine);

/* The program sets the meter: SwingSet's supervisor sets it to 0 for unmetered work, and back.
 * The work in between is not charged. */
void xs_profile_meter_set(void *machine, uint32_t computrons);

/* The command's computrons were read; later work has none. */
void xs_profile_meter_read(void *machine);

/* Returns the last command's profile, as profile_encode() writes it; NULL: disabled. Valid until
 * the next command. */
const struct buf *xs_profile_take(void);

#endif
