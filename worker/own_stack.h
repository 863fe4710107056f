/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_OWN_STACK_H
#define GASPIPE_WORKER_OWN_STACK_H

#include "base/error.h"

/*
 * A stack that the worker maps for itself. Its size does not depend on `ulimit -s` or on the
 * parent process. It holds more than the engines' counted limits of recursion need
 * (worker/xs/xs_platform.h), so a contract never reaches its end.
 */

/* Runs the function on that stack, once per process. Returns 0 with its result, or -1. */
int own_stack_run(int (*function)(void *argument), void *argument, int *result,
                  struct error *error);

/* Returns memory far below the caller's frame to the system. */
void own_stack_give_back(void);

#endif
