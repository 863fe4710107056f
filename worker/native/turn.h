/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_TURN_H
#define GASPIPE_WORKER_NATIVE_TURN_H

#include <stdbool.h>
#include <stddef.h>

/* A function on a stack of its own, which can be left from within. One at a time. */

/* True when the function has returned, false when native_turn_leave() ended it. */
bool native_turn(void *stack, size_t size, void (*function)(void *argument), void *argument);

/* Whether a turn is under way. */
bool native_turn_is_on(void);

/* Ends the turn under way; what stands on its stack is gone. */
_Noreturn void native_turn_leave(void);

#endif
