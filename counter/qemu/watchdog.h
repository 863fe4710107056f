/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_WATCHDOG_H
#define GASPIPE_COUNTER_QEMU_WATCHDOG_H

#include <stdint.h>

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

#endif
