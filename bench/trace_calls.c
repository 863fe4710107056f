/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls small functions, and prints the least time stamp ticks that a call and return took:
 * `bare` with two rdtsc in the function's caller instead of a tracer. With -finstrument-functions
 * it is its own tracer, which writes the same eight bytes as ours.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <x86intrin.h>

#define OURS __attribute__((no_instrument_function))
#ifdef __clang__
#define APART __attribute__((noinline, optnone))
#else
#define APART __attribute__((noinline, noipa))
#endif

enum { CALLS = 20000, ROUNDS = 200, ROOM = 1 << 16 };

static uint64_t room[ROOM];
static uint64_t *event = room;

void __cyg_profile_func_enter(void *function, void *caller) OURS;
void __cyg_profile_func_exit(void *function, void *caller) OURS;

static OURS void put(uint64_t function)
{
    *event++ = __rdtsc() << 16 | (function & 0xffff);
    if (event == room + ROOM)
        event = room;
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    put((uint64_t)function);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)caller;
    put((uint64_t)function | 1);
}

long bench_leaf(long number);
APART long bench_leaf(long number)
{
    __asm__ volatile("" : "+r"(number));
    return number * 3 + 1;
}

static OURS double run(int bare)
{
    const uint64_t begin = __rdtsc();
    volatile uint64_t seen;
    long sum = 0;

    for (long i = 0; i < CALLS; i++) {
        if (bare)
            seen = __rdtsc();
        sum += bench_leaf(i);
        if (bare)
            seen = __rdtsc();
        __asm__ volatile("" : "+r"(sum));
    }
    (void)seen;
    return (double)(__rdtsc() - begin) / CALLS;
}

OURS int main(int argc, char **argv)
{
    const int bare = argc > 1 && strcmp(argv[1], "bare") == 0;
    double least = 1e9;

    for (int i = 0; i < ROUNDS; i++) {
        const double ticks = run(bare);

        least = ticks < least ? ticks : least;
    }
    printf("%.1f\n", least);
    return 0;
}
