/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_FNV1A_H
#define GASPIPE_SLOG_MODEL_FNV1A_H

#include <stddef.h>
#include <stdint.h>

/*
 * 64-bit FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/). Distinguishes texts that were not
 * chosen to collide.
 */
#define FNV1A_START UINT64_C(14695981039346656037)

/* Adds bytes to a digest, and their length, so that texts cannot run together. */
static inline uint64_t fnv1a_add(uint64_t digest, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return (digest ^ length) * UINT64_C(1099511628211);
}

#endif
