/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_WATCHDOG_H
#define GASPIPE_COUNTER_WATCHDOG_H

/*
 * Looks now and then whether a region has passed its limit, and ends the
 * process with GASMARK_EXIT_LIMIT if so. It sleeps while no region is limited,
 * and costs the counted code nothing.
 */

/* To be called after a region with a limit has begun to run. */
void watchdog_wake(void);

/* Ends the process: says why on stderr and exits with GASMARK_EXIT_LIMIT. */
_Noreturn void watchdog_over_limit(void);

#endif
