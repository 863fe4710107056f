/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_OWN_STACK_H
#define GASPIPE_WORKER_OWN_STACK_H

#include "base/error.h"

/*
 * A stack that the worker maps for itself. Its size does not depend on limits (ulimit -s), on who
 * starts the worker or on how. It holds what the engines' counted limits of recursion allow, with a
 * wide margin (worker/xs/xs_platform.h): a contract never sees its end.
 */

/* Runs the function there, once in a process. 0 with its result, or -1. */
int own_stack_run(int (*function)(void *argument), void *argument, int *result,
                  struct error *error);

/* Gives the system back what is far below the caller's frame, and was used. */
void own_stack_give_back(void);

#endif
