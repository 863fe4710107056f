/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that compilers vectorise. usage: vectors ROUNDS */
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 16384 };

static int from[COUNT], to[COUNT];

__attribute__((noinline)) static void scale(int *restrict target, const int *restrict source,
                                            long count, int factor)
{
    for (long i = 0; i < count; i++)
        target[i] += source[i] * factor + 1;
}

__attribute__((noinline)) static unsigned sum(const int *numbers, long count)
{
    unsigned total = 0;

    for (long i = 0; i < count; i++)
        total += (unsigned)numbers[i];
    return total;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    unsigned total = 0;

    for (int i = 0; i < COUNT; i++)
        from[i] = i % 251;
    for (int i = 0; i < rounds; i++) {
        scale(to, from, COUNT, i & 3);
        total += sum(to, COUNT);
    }
    printf("%u\n", total);
    return 0;
}
