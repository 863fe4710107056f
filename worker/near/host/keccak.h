/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_HOST_KECCAK_H
#define GASPIPE_WORKER_NEAR_HOST_KECCAK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Keccak as Ethereum uses it, before NIST changed the padding to make SHA-3 of it. `size`: 32
 * or 64, bytes of the hash.
 */
void near_keccak(const uint8_t *bytes, size_t length, uint8_t *hash, size_t size);

#endif
