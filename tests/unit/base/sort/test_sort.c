/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gnu/libc-version.h>

#include "base/sort/sort.h"

enum { MOST_BYTES = 256 * 1024, LARGEST = 40 };

enum keys { FEW_KEYS, CONTRADICTORY, KEYS };

struct comparing {
    size_t size;
    enum keys keys;
    uint64_t seen; /* a hash of each pair, in order */
};

static uint64_t seed = 88172645463325252U;

static uint32_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32);
}

static int compare(const void *left, const void *right, void *context)
{
    struct comparing *comparing = context;
    const unsigned char *a = left, *b = right;

    for (size_t i = 0; i < comparing->size; i++)
        comparing->seen = (comparing->seen * 31 + a[i]) * 31 + b[i];
    if (comparing->keys == CONTRADICTORY)
        return (int)(comparing->seen % 3) - 1;
    return (int)(a[0] % 8) - (int)(b[0] % 8);
}

/* With 2.36, both must compare the same pairs; another version need only agree on the result. */
static void compare_with_libc(size_t count, size_t size, enum keys keys)
{
    static unsigned char ours[MOST_BYTES], libc[MOST_BYTES], scratch[MOST_BYTES];
    struct comparing comparing[2] = {{size, keys, 0}, {size, keys, 0}};

    for (size_t i = 0; i < count * size; i++)
        ours[i] = libc[i] = (unsigned char)next_random();
    sort_stable_with(ours, count, size, compare, &comparing[0], scratch);
    qsort_r(libc, count, size, compare, &comparing[1]);
    if (strcmp(gnu_get_libc_version(), "2.36") != 0 && keys == CONTRADICTORY)
        return;
    assert_memory_equal(ours, libc, count * size + 1);
    if (strcmp(gnu_get_libc_version(), "2.36") == 0)
        assert_true(comparing[0].seen == comparing[1].seen);
}

static void sorts_as_glibc_does(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("sanitizers have a qsort_r() of their own, which compares other pairs\n");
    skip();
#endif
    for (int keys = 0; keys < KEYS; keys++)
        for (size_t size = 1; size <= LARGEST; size++)
            for (size_t count = 0; count < 50; count++)
                compare_with_libc(count < 40 ? count : next_random() % 2000, size, (enum keys)keys);
}

static int compare_numbers(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static void sorts_without_a_context(void **state)
{
    enum { COUNT = 100000 };
    static uint32_t numbers[COUNT], scratch[COUNT];

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        numbers[i] = (uint32_t)(i * 2654435761U % COUNT);
    sort_stable(numbers, COUNT, sizeof *numbers, compare_numbers, scratch);
    for (size_t i = 1; i < COUNT; i++)
        assert_true(numbers[i - 1] <= numbers[i]);
}

static void sorts_nothing_without_scratch(void **state)
{
    uint32_t number = 7;

    (void)state;
    sort_stable(NULL, 0, sizeof number, compare_numbers, NULL);
    sort_stable(&number, 1, sizeof number, compare_numbers, NULL);
    sort_stable(&number, 1000, 0, compare_numbers, NULL);
    assert_int_equal(number, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_as_glibc_does),
        cmocka_unit_test(sorts_without_a_context),
        cmocka_unit_test(sorts_nothing_without_scratch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
