/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_HOST_ED25519_H
#define GASPIPE_WORKER_NEAR_HOST_ED25519_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NEAR_ED25519_KEY_SIZE = 32, NEAR_ED25519_SIGNATURE_SIZE = 64 };

/*
 * Whether a signature is valid as the crate ed25519-dalek judges it with verify(): s is below the
 * group's order, and R is written as [s]B - [k]A comes out. Keys and R of small order, which
 * libsodium refuses, are no exception.
 */
bool near_ed25519_verify(const uint8_t signature[NEAR_ED25519_SIGNATURE_SIZE],
                         const uint8_t *message, size_t length,
                         const uint8_t key[NEAR_ED25519_KEY_SIZE]);

#endif
