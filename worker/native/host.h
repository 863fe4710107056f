/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_HOST_H
#define GASPIPE_WORKER_NATIVE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/native/meter.h"
#include "worker/near/call/call.h"

/*
 * Runs a function on its own stack, and lets it return early from any depth. One at a time.
 *
 *     worker's stack                      the turn's stack
 *     native_turn() ---- switch -----> function(argument)
 *         true  <------- switch ------- it returns
 *         false <------- switch ------- native_turn_leave(), from any depth
 *
 * The stack is not unwound after native_turn_leave(): whatever the function allocated
 * outside its own stack stays allocated. Contracts therefore allocate from a heap that the
 * next call resets.
 */

/* Returns true if the function returned, false after native_turn_leave(). */
bool native_turn(void *stack, size_t size, void (*function)(void *argument), void *argument);

/* Ends the current turn, and discards its stack. */
_Noreturn void native_turn_leave(void);

/* Implements gascontract.h for one call at a time. Between native_host_begin() and the next one,
 * a contract may run in a turn, which an error leaves. */

/* Context and storage are borrowed. `is_init`: the call is gascontract_init()'s. */
void native_host_begin(const struct near_context *context, const struct near_storage *storage,
                       bool is_init);

/* Returns the call's outcome. Buffers belong to the host until the next native_host_begin(). */
struct near_outcome native_host_outcome(void);

/* Frees the memory of the last call. */
void native_host_end(void);

/* Sets the thread-local variables of the loaded contract, which has one thread. */
void native_locals_set(uint8_t *start);

/* __tls_get_addr() for contracts. */
struct native_local_index {
    uint64_t module, offset;
};

/*
 * Finds a function for a native contract by name; 0: no such symbol. There are:
 *
 *     - the functions of gascontract.h;
 *     - C library functions that compute and keep no state between calls;
 *     - malloc() and related functions, on the contract's own heap;
 *     - the functions that a C++ compiler calls, without exceptions.
 *
 * None of them reaches files, other processes, clocks or random numbers.
 */
uintptr_t native_symbol_find(const char *name);

/* Searches a list that ends with a NULL name; NULL is an empty list. */
uintptr_t native_symbol_in(const struct native_symbol *list, const char *name);

#endif
