/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_HOST_H
#define GASPIPE_WORKER_NATIVE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/native/meter.h"
#include "worker/near/call/call.h"

/* A function on a stack of its own, which can be left from within. One at a time. */

/* True when the function has returned, false when native_turn_leave() ended it. */
bool native_turn(void *stack, size_t size, void (*function)(void *argument), void *argument);

/* Whether a turn is under way. */
bool native_turn_is_on(void);

/* Ends the turn under way; what stands on its stack is gone. */
_Noreturn void native_turn_leave(void);

/*
 * The functions of gascontract.h, for the one call that is under way. Between
 * native_host_begin() and the next one, a contract may run in a turn (worker/native/host.h), which
 * an error leaves.
 */

/* Context and storage are borrowed. `is_init`: of gascontract_init(). */
void native_host_begin(const struct near_context *context, const struct near_storage *storage,
                       bool is_init);

/* Ends the turn with an error, in these words. */
_Noreturn void native_host_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How the call went. Buffers are the host's until the next one begins. */
struct near_outcome native_host_outcome(void);

/* What the last call took is given back. */
void native_host_end(void);

/* The thread-local variables of the contract that is loaded: there is one, with one thread. */
void native_locals_set(uint8_t *start);

/* What __tls_get_addr() is to a contract. */
struct native_local_index {
    uint64_t module, offset;
};
void *native_locals_address(const struct native_local_index *index);

/*
 * What a native contract finds under a name: the functions of gascontract.h; those of the C
 * library that compute, and keep nothing from call to call; malloc() and its like, on a heap of
 * the contract's own; what a C++ compiler calls without exceptions. Nothing that reaches files,
 * other processes, the clock or chance. 0: there is no such symbol.
 */
uintptr_t native_symbol_find(const char *name);

/* The same in a list that ends with a NULL name; NULL is an empty one. */
uintptr_t native_symbol_in(const struct native_symbol *list, const char *name);

#endif
