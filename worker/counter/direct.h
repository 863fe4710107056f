/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_COUNTER_DIRECT_H
#define GASPIPE_WORKER_COUNTER_DIRECT_H

#include <stdbool.h>

/*
 * What no delivery pays for, a worker under the counter need not have QEMU execute: between
 * direct_begin() and direct_end() the processor executes the worker itself. Memory is the same, to
 * the last byte, and nothing is counted. Without a counter, or where that cannot do it, these do
 * nothing.
 *
 * In between the worker may compute, read and write. It may not map memory or have any allocated,
 * since QEMU would not know of it.
 */

/* Once, before the worker confines itself: tells the counter where the worker's code is. */
void direct_prepare(void);

void direct_begin(void);

/* Also where nothing was begun. */
void direct_end(void);

/* Whether the processor executes the worker instead of QEMU. */
bool direct_is_on(void);

#endif
