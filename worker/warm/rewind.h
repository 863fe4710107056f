/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WARM_REWIND_H
#define GASPIPE_WORKER_WARM_REWIND_H

#include <stdbool.h>

/*
 * Has `run` do something, and the process's memory be afterwards what it was before, to the last
 * byte, as if nothing had been done: what remains is what QEMU has translated meanwhile. So it may
 * not change what lies outside of memory, such as files. False, and nothing was run: there is no
 * counter that can do that. Where it turns out afterwards that it cannot be done, the process
 * ends.
 */
bool rewind_around(void (*run)(void *context), void *context);

#endif
