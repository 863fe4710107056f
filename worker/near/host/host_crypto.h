/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_HOST_HOST_CRYPTO_H
#define GASPIPE_WORKER_NEAR_HOST_HOST_CRYPTO_H

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

/* ECDSA over P-256 with SHA-256, as the crate p256 has it: high values of s are accepted. */
enum { NEAR_P256_KEY_SIZE = 33, NEAR_P256_SIGNATURE_SIZE = 64 };

/* Whether both halves are at least one and below the group's order. */
bool near_p256_is_signature(const uint8_t signature[NEAR_P256_SIGNATURE_SIZE]);

/* `key`: compressed. False also where it is none, or when there is no memory. */
bool near_p256_verify(const uint8_t signature[NEAR_P256_SIGNATURE_SIZE], const uint8_t *message,
                      size_t length, const uint8_t key[NEAR_P256_KEY_SIZE]);

#endif
