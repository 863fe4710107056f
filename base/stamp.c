/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stamp.h"

#include <sys/time.h>
#include <time.h>

/* Neither call can fail: the clocks exist and the addresses are valid. */

static int64_t mono_now(void)
{
    struct timespec mono;

    (void)clock_gettime(CLOCK_MONOTONIC, &mono);
    return (int64_t)mono.tv_sec * 1000000000 + mono.tv_nsec;
}

struct stamp stamp_now(void)
{
    struct timeval real;

    (void)gettimeofday(&real, NULL);
    return (struct stamp){
        .real = (int64_t)real.tv_sec * 1000000 + real.tv_usec,
        .mono = mono_now(),
    };
}

struct stamp stamp_after(struct stamp first)
{
    int64_t mono = mono_now();

    return (struct stamp){
        .real = first.real + (mono - first.mono) / 1000,
        .mono = mono,
    };
}
