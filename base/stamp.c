/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stamp.h"

#include <sys/time.h>
#include <time.h>

struct stamp stamp_now(void)
{
    struct timeval real;
    struct timespec mono;

    /* Neither call can fail: the clocks exist and the addresses are ours. */
    (void)gettimeofday(&real, NULL);
    (void)clock_gettime(CLOCK_MONOTONIC, &mono);
    return (struct stamp){
        .real = (int64_t)real.tv_sec * 1000000 + real.tv_usec,
        .mono = (int64_t)mono.tv_sec * 1000000000 + mono.tv_nsec,
    };
}
