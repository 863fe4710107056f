/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/pair_table.h"
#include "counter/qemu/code/chain_tree.h"

/* The names of a chain's functions. */
static char names[1001];

static void begin(struct call_stack *stack)
{
    assert_true(call_stack_begin(stack, &names[0]));
}

static bool enter(struct call_stack *stack, uint64_t slot, uint32_t name)
{
    return call_stack_enter(stack, slot, &names[name]);
}

/* The innermost call's. */
static long name_of(const struct call_stack *stack)
{
    return (char *)stack->top->chain - names;
}

static void test_calls_and_returns(void **state)
{
    struct call_stack stack = {0};

    (void)state;
    begin(&stack);
    assert_int_equal(call_stack_depth(&stack), 0);
    assert_int_equal(name_of(&stack), 0);
    assert_true(enter(&stack, 1000, 1));
    assert_true(enter(&stack, 900, 2));
    assert_int_equal(name_of(&stack), 2);
    call_stack_leave(&stack, 900);
    assert_int_equal(name_of(&stack), 1);
    assert_int_equal(call_stack_depth(&stack), 1);
    /* A return of something that was not called, further down. */
    call_stack_leave(&stack, 950);
    assert_int_equal(name_of(&stack), 1);
    call_stack_leave(&stack, 1000);
    assert_int_equal(name_of(&stack), 0);
    call_stack_leave(&stack, 2000);
    assert_int_equal(name_of(&stack), 0);
    call_stack_free(&stack);
}

static void test_what_is_jumped_over(void **state)
{
    struct call_stack stack = {0};

    (void)state;
    begin(&stack);
    for (uint32_t i = 1; i <= 1000; i++)
        assert_true(enter(&stack, 100000 - 10 * (uint64_t)i, i));
    /* The next call lies where the tenth did. */
    call_stack_leave(&stack, 100000 - 100);
    assert_int_equal(call_stack_depth(&stack), 9);
    assert_int_equal(name_of(&stack), 9);
    call_stack_free(&stack);
}

static void test_other_stack(void **state)
{
    struct call_stack stack = {0};

    (void)state;
    begin(&stack);
    stack.other_start = 5000;
    stack.other_end = 6000;
    assert_true(enter(&stack, 1000, 1));
    /* A handler up there, though above, ends nothing. */
    call_stack_leave(&stack, 5900);
    assert_true(enter(&stack, 5900, 2));
    assert_true(enter(&stack, 5800, 3));
    call_stack_leave(&stack, 5800);
    assert_int_equal(name_of(&stack), 2);
    /* Back on the first stack, further down than the call there. */
    call_stack_leave(&stack, 900);
    assert_int_equal(name_of(&stack), 1);
    begin(&stack);
    assert_int_equal(name_of(&stack), 0);
    call_stack_free(&stack);
}

static void test_pairs(void **state)
{
    struct pair_table pairs = {0};
    struct pair *pair;
    uint64_t sum = 0;

    (void)state;
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 10000; i++) {
            pair = pair_table_find(&pairs, i % 100, i / 100);
            assert_non_null(pair);
            assert_int_equal(pair->value, round == 0 ? 0 : i);
            pair->value = i;
        }
    assert_int_equal(pairs.count, 10000);
    for (size_t at = 0; (pair = pair_table_next(&pairs, &at)) != NULL;) {
        assert_int_equal(pair->a + 100 * pair->b, pair->value);
        sum += pair->value;
    }
    assert_int_equal(sum, 9999 * 10000 / 2);
    pair_table_free(&pairs);
    assert_null(pair_table_next(&pairs, &(size_t){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_and_returns),
        cmocka_unit_test(test_what_is_jumped_over),
        cmocka_unit_test(test_other_stack),
        cmocka_unit_test(test_pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
