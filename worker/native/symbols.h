/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_SYMBOLS_H
#define GASPIPE_WORKER_NATIVE_SYMBOLS_H

#include <stdint.h>

#include "worker/native/meter.h"

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
