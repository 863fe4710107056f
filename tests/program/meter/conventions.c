/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of all kinds as arguments and results, and variable arguments: what each machine
 * passes in its own way. */
#include <complex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct token {
    const char *text;
    int length;
};
struct big {
    long numbers[20];
};
struct floats {
    double a, b, c, d;
};
struct small {
    int number;
};
struct odd {
    char bytes[11];
};
struct mixed {
    float weight;
    long count;
};

struct all {
    struct token token;
    struct big big;
    struct floats floats;
    struct small small;
    struct odd odd;
    struct mixed mixed;
};

#define APART __attribute__((noinline))

APART long take(struct token token, struct big big, struct floats floats, struct small small,
                struct odd odd, struct mixed mixed)
{
    big.numbers[token.length] += small.number;
    return token.length + big.numbers[3] + (long)floats.c + small.number + odd.bytes[7] +
           mixed.count + (long)mixed.weight;
}

APART long take_from(struct all *all)
{
    return take(all->token, all->big, all->floats, all->small, all->odd, all->mixed);
}

APART struct token give_token(struct all *all)
{
    return all->token;
}
APART struct floats give_floats(struct all *all)
{
    return all->floats;
}
APART struct small give_small(struct all *all)
{
    return all->small;
}
APART struct big give_big(struct all *all)
{
    struct big big = all->big;

    big.numbers[1]++;
    return big;
}
APART struct odd give_odd(struct all *all)
{
    return all->odd;
}
APART struct mixed give_mixed(struct all *all)
{
    return all->mixed;
}

APART void copy(struct all *to, struct all *from)
{
    to->token = give_token(from);
    to->floats = give_floats(from);
    to->small = give_small(from);
    to->big = give_big(from);
    to->odd = give_odd(from);
    to->mixed = give_mixed(from);
}

APART long nested(struct all *all)
{
    return take(give_token(all), give_big(all), give_floats(all), give_small(all), give_odd(all),
                give_mixed(all));
}

APART double complex turn(double complex number)
{
    return number * (1.0 + 2.0 * I);
}

APART long sum_list(int count, va_list list)
{
    long sum = 0;

    for (int i = 0; i < count; i++)
        sum += va_arg(list, int);
    return sum;
}

APART long variable(int count, ...)
{
    va_list list, other;
    long sum;

    va_start(list, count);
    va_copy(other, list);
    sum = sum_list(count, list);
    for (int i = 0; i < count; i++)
        sum += 2 * va_arg(other, int);
    sum += va_arg(other, struct token).length;
    sum += (long)va_arg(other, double);
    sum += va_arg(other, struct big).numbers[2];
    sum += (long)va_arg(other, struct floats).d;
    va_end(other);
    va_end(list);
    return sum;
}

APART int format(char *text, size_t size, const char *how, ...)
{
    va_list list;
    int length;

    va_start(list, how);
    length = vsnprintf(text, size, how, list);
    va_end(list);
    return length;
}

/* Volatile bit-fields are as wide as the ABI wants; they must cost the same. */
static volatile struct {
    unsigned low : 11;
    unsigned high : 22;
    signed odd : 7;
} bits;

APART int touch_bits(int value)
{
    bits.high = (unsigned)value;
    bits.odd = value & 31;
    return (int)(bits.high + bits.low) + bits.odd;
}

/* A structure in one register, from where a global pointer points. */
struct pair {
    short one, two;
};

static struct pair first_pair = {3, 4}, *volatile some_pair = &first_pair;
static struct pair *one_pair = &first_pair;

APART int take_pair(int factor, struct pair pair)
{
    return factor * pair.one + pair.two;
}

/* Too odd for registers of x86-64, so that it is a temporary there, and that only if it is called.
 */
struct __attribute__((packed)) crooked {
    char first;
    long number;
    char rest[7];
};

APART struct crooked give_crooked(int value)
{
    struct crooked crooked = {.first = 1, .number = value};

    return crooked;
}

APART int take_some_crooked(int value)
{
    return value > 50 && ((void)give_crooked(value), value != 70) &&
           give_crooked(-value).rest[0] == 0;
}

/* In registers on no machine: one copies it itself, one has the code generator copy it. */
struct three {
    long one, two, three;
};

APART long take_three(struct three three)
{
    return three.one + three.three;
}

/* As large as a structure may be that costs nothing to pass. */
struct eight {
    long numbers[8];
};

APART long take_eight(struct eight eight)
{
    return eight.numbers[2] + eight.numbers[7];
}

/* The same from where they are not aligned as an argument has to be. */
struct __attribute__((packed)) shifted {
    char first;
    struct three three;
    struct eight eight;
    struct big big;
};

APART long take_big(struct big big)
{
    return big.numbers[1] + big.numbers[19];
}

APART long take_shifted(struct shifted *shifted, struct three *three, struct eight *eight)
{
    return take_three(*three) + take_three(shifted->three) + take_eight(*eight) +
           take_eight(shifted->eight) + take_big(shifted->big);
}

/* Arrays begin at a whole word on every machine, or this takes other numbers of steps. */
static char before = 1, array[40];

APART int steps_to_word(const char *at)
{
    int steps = 0;

    while (((uintptr_t)at & 15) != 0) {
        at++;
        steps++;
    }
    return steps;
}

/* A text within a structure, which by itself wants half a word. */
struct labelled {
    int number;
    char text[20];
};

static void label(struct labelled *labelled, int number)
{
    labelled->number = number;
    memset(labelled->text, number, sizeof labelled->text);
}

/* Texts too, short ones that a linker puts in a row. */
static int all_on_words(void)
{
    static const char *volatile texts[] = {"a", "bcd", "efghijk", "lm"};
    uintptr_t low = 0;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        low |= (uintptr_t)texts[i] & 7;
    return low == 0;
}

int main(int argc, char **argv)
{
    struct all *all = calloc(2, sizeof *all);
    struct token token = {"abc", 3};
    long sum = 0;
    char text[32];
    struct shifted shifted = {.first = 1, .three = {1, 2, 3}};
    struct three three = {4, 5, 6};
    struct eight eight = {{7, 8}};

    (void)argv;
    for (int i = 0; i < 20; i++)
        all->big.numbers[i] = i * argc;
    all->token = token;
    all->floats.c = all->floats.d = 2.5;
    for (int i = 0; i < 100; i++) {
        char local[24], odd[19], other[21];
        struct labelled one, two;

        label(&one, i);
        label(&two, i + 1);
        sum += steps_to_word(one.text) + steps_to_word(two.text) + two.text[2];

        memset(local, i, sizeof local);
        sum += steps_to_word(memset(odd, i, sizeof odd));
        sum += steps_to_word(memset(other, i, sizeof other));
        sum += take_some_crooked(i) + take_shifted(&shifted, &three, &eight);
        sum += touch_bits(i) + take_pair(i, *one_pair) + take_pair(i, *some_pair);
        sum += steps_to_word(array) + steps_to_word(local) + before + local[3];
        copy(&all[1], &all[0]);
        sum += take_from(&all[1]) + nested(all);
        sum += variable(3, i, 2, 3, token, 2.5, all->big, all->floats);
        sum += (long)cimag(turn(i));
        sum += format(text, sizeof text, "%d %s", i, "x");
    }
    printf("%ld\n", sum);
    free(all);
    return !all_on_words();
}
