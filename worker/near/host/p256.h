/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_HOST_P256_H
#define GASPIPE_WORKER_NEAR_HOST_P256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ECDSA over P-256 with SHA-256, as the crate p256 has it: high values of s are accepted. */
enum { NEAR_P256_KEY_SIZE = 33, NEAR_P256_SIGNATURE_SIZE = 64 };

/* Whether both halves are at least one and below the group's order. */
bool near_p256_is_signature(const uint8_t signature[NEAR_P256_SIGNATURE_SIZE]);

/* `key`: compressed. False also where it is none, or when there is no memory. */
bool near_p256_verify(const uint8_t signature[NEAR_P256_SIGNATURE_SIZE], const uint8_t *message,
                      size_t length, const uint8_t key[NEAR_P256_KEY_SIZE]);

#endif
