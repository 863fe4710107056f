/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/guest/randomness.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "counter/qemu/guest/guest_memory.h"

/* Where the syscall that is under way puts random bytes; 0: it does not. */
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

/* By their numbers in Linux's Documentation/admin-guide/devices.txt. */
static bool is_random_device(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
           (status.st_rdev == makedev(1, 8) || status.st_rdev == makedev(1, 9));
}

void randomness_asked(int64_t number, uint64_t a1, uint64_t a2)
{
    guest_buffer = 0;
    if (number == SYS_getrandom)
        guest_buffer = a1;
    else if (number == SYS_read && is_random_device((int)a1))
        guest_buffer = a2;
}

void randomness_given(int64_t result)
{
    for (int64_t at = 0; guest_buffer != 0 && at < result; at += 8) {
        uint64_t number = next_number();
        size_t size = result - at < 8 ? (size_t)(result - at) : 8;

        guest_memory_write(guest_buffer + (uint64_t)at, &number, size);
    }
}
