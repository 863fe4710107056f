/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_LOCALS_H
#define GASPIPE_WORKER_NATIVE_LOCALS_H

#include <stdint.h>

/* The thread-local variables of the contract that is loaded: there is one, with one thread. */
void native_locals_set(uint8_t *start);

/* What __tls_get_addr() is to a contract. */
struct native_local_index {
    uint64_t module, offset;
};
void *native_locals_address(const struct native_local_index *index);

#endif
