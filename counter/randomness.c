/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/randomness.h"

#include <stddef.h>

#include "counter/guest_memory.h"

static __thread uint64_t guest_buffer;

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t next_number(void)
{
    static uint64_t state;
    uint64_t z = __atomic_add_fetch(&state, 0x9e3779b97f4a7c15, __ATOMIC_RELAXED);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

void randomness_asked(uint64_t buffer)
{
    guest_buffer = buffer;
}

void randomness_given(int64_t length)
{
    for (int64_t at = 0; at < length; at += 8) {
        uint64_t number = next_number();
        size_t size = length - at < 8 ? (size_t)(length - at) : 8;

        guest_memory_write(guest_buffer + (uint64_t)at, &number, size);
    }
}
