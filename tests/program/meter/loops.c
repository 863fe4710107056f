/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of all kinds: counted, not counted, nested, without an end, by computed goto, in switches;
 * calls that recurse. The first argument says which; the second how often. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 3000

static int numbers[SIZE];

static long sum_all(long count)
{
    long sum = 0;

    for (long i = 0; i < count; i++)
        for (int k = 0; k < SIZE; k++)
            sum += numbers[k] * (int)i;
    return sum;
}

static long collatz(long count)
{
    long steps = 0;

    for (unsigned long n = 1; n < (unsigned long)count; n++)
        for (unsigned long x = n; x != 1; steps++)
            x = x % 2 ? 3 * x + 1 : x / 2;
    return steps;
}

static long interpret(long count)
{
    static const void *const codes[] = {&&add, &&skip, &&again, &&add, &&again};
    long sum = 0;
    int at = 0;

    goto *codes[0];
add:
    sum += at;
    goto *codes[++at];
skip:
    at++;
    goto *codes[at];
again:
    at = at == 4 ? 0 : at + 1;
    if (--count > 0)
        goto *codes[at];
    return sum;
}

static long fibonacci(long n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static long copies(long count)
{
    static char from[5000], to[5000];
    long sum = 0;

    for (long i = 0; i < count; i++) {
        memcpy(to, from, (size_t)(i % 5000));
        memset(from, (int)i | 1, (size_t)(i % 300));
        from[i % 299] = '\0';
        sum += (long)strlen(from) + strcmp(from, to) + to[0];
    }
    return sum;
}

static long forever(long start)
{
    volatile long number = start;

    for (;;)
        number++;
    return number;
}

static long quietly_forever(long start)
{
    for (uint64_t i = 0;; i++)
        if (i == UINT64_MAX)
            return start;
}

static long recurse_forever(long start)
{
    return start == -1 ? 0 : 1 + recurse_forever(start + 1) % 7;
}

static int compare(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

static long sorted(long count)
{
    for (long i = 0; i < count; i++) {
        for (int k = 0; k < SIZE; k++)
            numbers[k] = (int)((k * 7919 + i) % 3001);
        qsort(numbers, SIZE, sizeof *numbers, compare);
    }
    return numbers[17];
}

/* Functions that end soon, which their callers count on across; the last is called by its
 * address as well. */
static inline long clamp(long number, long most)
{
    return number > most ? most : number;
}

long mix(long number);
__attribute__((noinline)) long mix(long number)
{
    return (number * 33 ^ number >> 7) & 0xffff;
}

long step(long number);
long step(long number)
{
    return clamp(mix(number) + 1, 50000);
}

static long small_calls(long count)
{
    long (*volatile by_address)(long) = step;
    long sum = 0;

    for (long i = 0; i < count; i++) {
        sum = step(sum + i);
        if (sum % 8 == 0)
            sum += by_address(i);
    }
    return sum;
}

static long small_forever(long start)
{
    while (start >= 0)
        start = step(start);
    return start;
}

/* Functions that are called by name only, and take over what their callers have pending: one with a
 * loop, one that calls others and itself, one that LLVM inlines. */
__attribute__((noinline)) static long digits(long number)
{
    long count = 0;

    for (; number > 0; number /= 10)
        count++;
    return count;
}

static long around(long number)
{
    return number % 3 == 0 ? digits(number) + 1 : abs((int)number);
}

__attribute__((noinline)) static long halve(long number)
{
    if (number > 100)
        return halve(number / 2) + digits(number);
    return around(number);
}

#define CODE(n)                                                                                    \
    case n:                                                                                        \
        sum += (n) % 7 == 0 ? halve(sum & 0xffff) : (n) % 5 == 0 ? around(sum & 0xff) : (n);       \
        at += (n) % 3 + 1;                                                                         \
        break;
#define CODES(n) CODE(n) CODE((n) + 1) CODE((n) + 2) CODE((n) + 3) CODE((n) + 4)

/* An interpreter whose dispatch is a switch of many cases. */
static long switched(long count)
{
    unsigned at = 0;
    long sum = 0;

    while (count-- > 0)
        switch (at % 41) {
            CODES(0)
            CODES(5)
            CODES(10)
            CODES(15)
            CODES(20)
            CODES(25)
            CODES(30)
            CODES(35)
        default:
            at = 0;
            continue;
        }
    return sum;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        long (*function)(long);
    } kinds[] = {
        {"sum", sum_all},
        {"collatz", collatz},
        {"goto", interpret},
        {"calls", fibonacci},
        {"copies", copies},
        {"forever", forever},
        {"quiet", quietly_forever},
        {"deep", recurse_forever},
        {"sort", sorted},
        {"small", small_calls},
        {"smallforever", small_forever},
        {"switch", switched},
    };

    for (int k = 0; k < SIZE; k++)
        numbers[k] = k;
    for (size_t i = 0; argc > 2 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            printf("%ld\n", kinds[i].function(atol(argv[2])));
    return 0;
}
