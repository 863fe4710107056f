/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counter/qemu/code/insn.h"

enum expected { HARMLESS, FAULTS, RAISES, REPEATS };

static const struct {
    const char *text;
    uint8_t bytes[8];
    size_t size;
    enum expected expected;
} instructions[] = {
    {"mov %rax,%rbx", {0x48, 0x89, 0xc3}, 3, HARMLESS},
    {"mov (%rax),%rbx", {0x48, 0x8b, 0x18}, 3, FAULTS},
    {"lea 8(%rax),%rbx", {0x48, 0x8d, 0x58, 8}, 4, HARMLESS},
    {"lea of a register", {0x8d, 0xc0}, 2, RAISES},
    {"push %rax", {0x50}, 1, FAULTS},
    {"jne", {0x75, 0x10}, 2, HARMLESS},
    {"call", {0xe8, 0, 0, 0, 0}, 5, FAULTS},
    {"ret", {0xc3}, 1, FAULTS},
    {"mul %rcx", {0x48, 0xf7, 0xe1}, 3, HARMLESS},
    {"div %rcx", {0x48, 0xf7, 0xf1}, 3, RAISES},
    {"div (%rcx)", {0x48, 0xf7, 0x31}, 3, RAISES},
    {"syscall", {0x0f, 0x05}, 2, HARMLESS},
    {"ud2", {0x0f, 0x0b}, 2, RAISES},
    {"int3", {0xcc}, 1, HARMLESS},
    {"hlt", {0xf4}, 1, RAISES},
    {"pause", {0xf3, 0x90}, 2, HARMLESS},
    {"addsd %xmm1,%xmm0", {0xf2, 0x0f, 0x58, 0xc1}, 4, HARMLESS},
    {"addsd (%rax),%xmm0", {0xf2, 0x0f, 0x58, 0x00}, 4, FAULTS},
    {"VEX", {0xc5, 0xf8, 0x77}, 3, RAISES},
    {"rep movsq", {0xf3, 0x48, 0xa5}, 3, REPEATS},
    {"repne scasb", {0xf2, 0xae}, 2, REPEATS},
    {"movsb", {0xa4}, 1, FAULTS},
    {"movss, whose F3 is not a repeat", {0xf3, 0x0f, 0x10, 0xc1}, 4, HARMLESS},
    {"lock add", {0xf0, 0x01, 0x08}, 3, FAULTS},
    {"lock add to a register", {0xf0, 0x01, 0xc8}, 3, RAISES},
    {"nothing but prefixes", {0x66, 0x66}, 2, RAISES},
    {"no bytes", {0}, 0, RAISES},
};

static void test_atomic(void **state)
{
    static const struct {
        uint8_t bytes[4];
        bool atomic;
    } cases[] = {
        {{0xf0, 0x01, 0x08}, true},       /* lock add %ecx,(%rax) */
        {{0x48, 0xf0, 0x01, 0x08}, true}, /* prefixes in another order */
        {{0x01, 0x08}, false},            /* add %ecx,(%rax) */
        {{0x48, 0x87, 0x08}, true},       /* xchg %rcx,(%rax) */
        {{0x86, 0x08}, true},             /* xchg %cl,(%rax) */
        {{0x48, 0x87, 0xc8}, false},      /* xchg %rcx,%rax */
        {{0x0f, 0x87, 0x08, 0}, false},   /* ja */
        {{0xf3, 0x48, 0xa5}, false},      /* rep movsq */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct opcode opcode = opcode_of(cases[i].bytes, sizeof cases[i].bytes);

        assert_int_equal(instruction_of(&opcode).atomic, cases[i].atomic);
    }
}

static void test_each(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        struct opcode opcode = opcode_of(instructions[i].bytes, instructions[i].size);
        struct instruction found = instruction_of(&opcode);
        enum expected expected = instructions[i].expected;

        if (found.may_fault != (expected != HARMLESS) || found.raises != (expected == RAISES) ||
            found.repeats != (expected == REPEATS))
            fail_msg("%s is taken for something else", instructions[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_atomic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
