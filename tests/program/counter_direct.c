/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is executed directly: counter_direct [out]. Prints the same with and without the counter,
 * but for the number of instructions, which goes to stderr.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counter/gasmark.h"
#include "worker/counter/direct.h"

static __thread int of_this_thread = 7;
static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

static unsigned sum(unsigned rounds)
{
    volatile unsigned result = 0;

    for (unsigned i = 0; i < rounds; i++)
        result += i;
    return result;
}

/* More of them than there are registers. */
static double mix(double a, double b, double c, double d, double e, double f, double g, double h,
                  double i, int j, int k, int l, int m, int n, int o, int p)
{
    return a + b * c - d / e + sqrt(f) + g * h - i + j + k * l - m + n + o * p;
}

int main(void)
{
    char block[4096];
    unsigned first, second;
    double number;
    int problem;

    (void)signal(SIGUSR1, on_signal);
    direct_prepare();
    gasmark_start();
    direct_begin();
    first = sum(1000000);
    number = mix(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    of_this_thread += 1;
    memset(block, 'x', sizeof block);
    problem = close(-1) < 0 ? errno : 0;
    direct_end();
    direct_end(); /* nothing is left to end */
    of_this_thread += 1;
    second = sum(10);
    direct_begin();
    direct_begin(); /* as it is */
    if (kill(getpid(), SIGUSR1) != 0 || write(STDOUT_FILENO, "directly\n", 9) != 9)
        return EXIT_FAILURE;
    direct_end();
    fprintf(stderr, "%llu\n", (unsigned long long)gasmark_stop());
    printf("%u %u %.6f %d %d %d %c\n", first, second, number, of_this_thread, problem == EBADF,
           (int)signals, block[sizeof block - 1]);
    return EXIT_SUCCESS;
}
