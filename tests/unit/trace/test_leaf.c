/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions are over at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/patch/leaf.h"

#define IS_LIGHT(...)                                                                              \
    leaf_is_light((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void test_light(void **state)
{
    (void)state;
    assert_true(IS_LIGHT(0x8d, 0x47, 0x01, 0xc3));             /* lea 1(%rdi),%eax; ret */
    assert_true(IS_LIGHT(0x85, 0xff, 0x74, 0x01, 0x90, 0xc3)); /* test; je over the nop; ret */
    assert_true(IS_LIGHT(0xeb, 0x00, 0xc3));                   /* jmp to the ret */
    assert_true(IS_LIGHT(0x48, 0x89, 0x07, 0xc3));             /* mov %rax,(%rdi); ret */
    assert_true(IS_LIGHT(0x90, 0xe9, 0x00, 0x00, 0x00, 0x00)); /* jmp to another function */
    assert_true(IS_LIGHT(0x74, 0x10, 0xc3));                   /* je to another */
    /* je over the ret; ret; call, jmp to another: it does not come back */
    assert_true(
        IS_LIGHT(0x74, 0x01, 0xc3, 0xe8, 0x00, 0x00, 0x00, 0x00, 0xe9, 0x00, 0x00, 0x00, 0x00));
    assert_true(IS_LIGHT(0x74, 0x01, 0xc3, 0xe8, 0x00, 0x00, 0x00, 0x00)); /* nor behind its end */
}

static void test_not_light(void **state)
{
    (void)state;
    assert_false(IS_LIGHT(0xff, 0xcf, 0x75, 0xfc, 0xc3));       /* dec; jne back; ret */
    assert_false(IS_LIGHT(0xeb, 0xfe));                         /* jmp to itself */
    assert_false(IS_LIGHT(0xe8, 0x00, 0x00, 0x00, 0x00, 0xc3)); /* call */
    assert_false(IS_LIGHT(0xff, 0xd0, 0xc3));                   /* call *%rax */
    /* test; je to the ret; call, and back to the test: a loop with a call that does return */
    assert_false(IS_LIGHT(0x85, 0xff, 0x74, 0x07, 0xe8, 0x00, 0x00, 0x00, 0x00, 0xeb, 0xf5, 0xc3));
    assert_false(IS_LIGHT(0x74, 0x01, 0xc3, 0x90)); /* behind its end without a call */
    assert_false(IS_LIGHT(0xff, 0xe0));             /* jmp *%rax */
    assert_false(IS_LIGHT(0xf3, 0xaa, 0xc3));       /* rep stosb */
    assert_false(IS_LIGHT(0x0f, 0x05, 0xc3));       /* syscall */
    assert_false(IS_LIGHT(0xcc, 0xc3));             /* int3 */
    assert_false(IS_LIGHT(0xe8));                   /* the end in the middle */
    assert_false(leaf_is_light((const uint8_t *)"", 0));
}

static void test_length(void **state)
{
    uint8_t bytes[LEAF_INSTRUCTIONS_MAX + 1];

    (void)state;
    memset(bytes, 0x90, sizeof bytes);
    bytes[LEAF_INSTRUCTIONS_MAX - 1] = 0xc3;
    assert_true(leaf_is_light(bytes, LEAF_INSTRUCTIONS_MAX));
    bytes[LEAF_INSTRUCTIONS_MAX - 1] = 0x90;
    bytes[LEAF_INSTRUCTIONS_MAX] = 0xc3;
    assert_false(leaf_is_light(bytes, sizeof bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light),
        cmocka_unit_test(test_not_light),
        cmocka_unit_test(test_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
