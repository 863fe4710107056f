/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_SEALED_BYTES_H
#define GASPIPE_STORE_INTEGRITY_SEALED_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes whose last 8 are the checksum of the others: XXH3 (64 bits), seeded. */
enum { SEAL_SIZE = 8 };

void sealed_bytes_seal(unsigned char *bytes, size_t length, uint64_t seed);

bool sealed_bytes_match(const unsigned char *bytes, size_t length, uint64_t seed);

/*
 * Looks for the one byte whose change makes the bytes match, and puts it back. That another byte
 * makes them match by chance is as likely as 1 in 2^43. For 4 KiB it tries each bit in 20 ms, then
 * each byte in 0.6 s; the latter for the first two such pages of a thread only, because a file
 * that another program wrote has many pages that do not match.
 */
enum sealed_bytes_found {
    SEALED_BYTES_NOTHING,
    SEALED_BYTES_CORRECTED,
    SEALED_BYTES_AGAIN, /* the same as at an earlier call */
};

enum sealed_bytes_found sealed_bytes_correct(unsigned char *bytes, size_t length, uint64_t seed);

#endif
