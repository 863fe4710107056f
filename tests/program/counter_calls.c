/* SPDX-License-Identifier: Apache-2.0 */
/* usage: counter_calls. Calls of all sorts, for the profile to follow; `work` does what costs. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Each function but `tail` does something after its last call, so that it stays a call. */
#define NOT_INLINE static __attribute__((noinline))

static volatile uint64_t sum;

NOT_INLINE void work(void)
{
    for (int i = 0; i < 1000; i++)
        sum += (uint64_t)i;
}

NOT_INLINE void one(void)
{
    work();
    sum++;
}

NOT_INLINE void two(void)
{
    work();
    one();
    sum++;
}

NOT_INLINE void recursive(int depth)
{
    if (depth > 0)
        recursive(depth - 1);
    else
        work();
    sum++;
}

/* One that leaves by a jump instead of a call: its caller is the callee's. */
NOT_INLINE void tail(void)
{
    sum++;
    work();
}

NOT_INLINE void calls_tail(void)
{
    tail();
    sum++;
}

static jmp_buf place;

NOT_INLINE void jumps(int depth)
{
    if (depth > 0)
        jumps(depth - 1);
    else if (sum > 0)
        longjmp(place, 1);
    sum++;
}

NOT_INLINE void jumped_over(void)
{
    if (setjmp(place) == 0)
        jumps(20);
    work();
    sum++;
}

NOT_INLINE void handler(int number)
{
    (void)number;
    work();
    sum++;
}

NOT_INLINE void raises(void)
{
    kill(getpid(), SIGUSR1);
    sum++;
}

NOT_INLINE void raises_on_other_stack(void)
{
    static char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

    sigaltstack(&other, NULL);
    sigaction(SIGUSR2, &action, NULL);
    kill(getpid(), SIGUSR2);
    one();
    sum++;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

NOT_INLINE void sorts(void)
{
    int numbers[] = {3, 1, 2};

    qsort(numbers, 3, sizeof *numbers, compare);
}

static void *thread(void *unused)
{
    two();
    return unused;
}

int main(void)
{
    pthread_t other;

    one();
    two();
    recursive(5);
    calls_tail();
    jumped_over();
    signal(SIGUSR1, handler);
    raises();
    raises_on_other_stack();
    sorts();
    work();
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    return 0;
}
