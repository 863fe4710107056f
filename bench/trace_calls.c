/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls small functions, and prints the least time stamp ticks that a call and return took:
 * `bare` with two rdtsc in the function's caller instead of a tracer; `int3` with a breakpoint
 * before and after, whose signal's handler writes an event, as tracers do that patch no jumps. With
 * -finstrument-functions it is its own tracer, which writes the same eight bytes as gaspipe's,
 * unless HOOKS_OF_LIBRARY says that a library is.
 */
#include <signal.h>
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

enum { CALLS = 20000, ROUNDS = 200, EVENTS = 1 << 16 };

static uint64_t events[EVENTS];
static uint64_t *event = events;

/* May be called by handlers of signals. */
static OURS uint64_t time_stamp(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static OURS void put(uint64_t function)
{
    *event++ = time_stamp() << 16 | (function & 0xffff);
    if (event == events + EVENTS)
        event = events;
}

#ifndef HOOKS_OF_LIBRARY
void __cyg_profile_func_enter(void *function, void *caller) OURS;
void __cyg_profile_func_exit(void *function, void *caller) OURS;

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

#endif

static OURS void on_breakpoint(int number)
{
    put((uint64_t)number);
}

long bench_leaf(long number);
APART long bench_leaf(long number)
{
    __asm__ volatile("" : "+r"(number));
    return number * 3 + 1;
}

enum how { UNTRACED, BARE, BREAKPOINTS, FEW };

static OURS double run(enum how how)
{
    const int calls = how == BREAKPOINTS || how == FEW ? CALLS / 100 : CALLS;
    const uint64_t begin = __rdtsc();
    volatile uint64_t seen;
    long sum = 0;

    for (long i = 0; i < calls; i++) {
        if (how == BARE)
            seen = __rdtsc();
        else if (how == BREAKPOINTS)
            __asm__ volatile("int3");
        sum += bench_leaf(i);
        if (how == BARE)
            seen = __rdtsc();
        else if (how == BREAKPOINTS)
            __asm__ volatile("int3");
        __asm__ volatile("" : "+r"(sum));
    }
    (void)seen;
    return (double)(__rdtsc() - begin) / calls;
}

OURS int main(int argc, char **argv)
{
    const char *const word = argc > 1 ? argv[1] : "";
    const enum how how = strcmp(word, "bare") == 0   ? BARE
                         : strcmp(word, "int3") == 0 ? BREAKPOINTS
                         : strcmp(word, "few") == 0  ? FEW
                                                     : UNTRACED;
    double least = 1e9;

    (void)signal(SIGTRAP, on_breakpoint);
    for (int i = 0; i < ROUNDS; i++) {
        const double ticks = run(how);

        least = ticks < least ? ticks : least;
    }
    printf("%.1f\n", least);
    return 0;
}
