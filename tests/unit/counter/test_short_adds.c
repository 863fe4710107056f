/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counter/qemu/code/short_adds.h"

/*
 * Functions as QEMU writes additions, by the assembler, in a page that can be written to.
 * Each keeps the registers that it uses.
 */
#define FUNCTION(name, body)                                                                       \
    ".globl " #name ", " #name "_end\n" #name ":\n" body "ret\n" #name "_end:\n"
#define ADD_TO(word, a, b, add)                                                                    \
    "lea " word "(%rip), %" a "\n mov (%" a "), %" b "\n " add " %" b "\n mov %" b ", (%" a ")\n"
#define KEEPING(a, b, body)       "push %" a "\n push %" b "\n" body "pop %" b "\n pop %" a "\n"
#define ADDITION(name, a, b, add) FUNCTION(name, KEEPING(a, b, ADD_TO("word", a, b, add)))

__asm__(".pushsection .data\n .balign 4096\n"
        "words: word: .quad 0\n other_word: .quad 0\n .skip 4080\n"
        "code:\n" /* clang-format off */
        ADDITION(usual, "rbx", "r12", "addq $5,")
        ADDITION(by_one, "rbx", "r12", "incq")
        ADDITION(most, "rbx", "r12", "addq $127,")
        ADDITION(too_many, "rbx", "r12", "addq $128,")
        ADDITION(by_r12, "r12", "r13", "addq $5,")
        ADDITION(by_r13, "r13", "rax", "addq $5,")
        ADDITION(by_rbp, "rbp", "r15", "incq")
        FUNCTION(spilled, KEEPING("rbx", "r12",
            "lea word(%rip), %rbx\n mov %rax, -64(%rsp)\n mov (%rbx), %r12\n"
            "add $5, %r12\n mov %r12, (%rbx)\n"))
        FUNCTION(loaded_elsewhere, KEEPING("rbx", "r12",
            "lea word(%rip), %rbx\n mov (%rbx), %r12\n add $5, %r12\n"
            "mov %r12, other_word(%rip)\n"))
        FUNCTION(two, KEEPING("rbx", "r12",
            ADD_TO("word", "rbx", "r12", "addq $2,") ADD_TO("other_word", "rbx", "r12", "addq $3,")))
        /* clang-format on */
        ".balign 4096\n .popsection\n");

extern uint64_t word, other_word;
extern uint8_t code[];
#define CODE_SIZE 4096

struct example {
    uint8_t *start, *end;
};

#define EXAMPLE(name)                                                                              \
    ({                                                                                             \
        extern uint8_t name[], name##_end[];                                                       \
        (struct example){name, name##_end};                                                        \
    })

static void call(struct example example)
{
    void (*function)(void);

    memcpy(&function, &example.start, sizeof function);
    function();
}

static int make_writable(void **state)
{
    (void)state;
    return mprotect(code, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
}

/* Whether it became shorter; it adds `number` before and after in any case. */
static bool shortened(struct example example, uint64_t number)
{
    uint64_t made = short_adds_tally().made;

    word = 1000;
    call(example);
    assert_int_equal(word, 1000 + number);
    short_adds_new_block();
    short_adds_expect(&word, number);
    short_adds_make(example.start, (size_t)(example.end - example.start));
    call(example);
    assert_int_equal(word, 1000 + 2 * number);
    return short_adds_tally().made == made + 1;
}

static void test_additions_become_one_instruction(void **state)
{
    (void)state;
    assert_true(shortened(EXAMPLE(usual), 5));
    assert_true(shortened(EXAMPLE(by_one), 1));
    assert_true(shortened(EXAMPLE(most), 127));
    assert_true(shortened(EXAMPLE(by_r12), 5));
    assert_true(shortened(EXAMPLE(by_r13), 5));
    assert_true(shortened(EXAMPLE(by_rbp), 1));
    /* Not twice. */
    assert_false(shortened(EXAMPLE(usual), 5));
}

/* What is made of the code of an example where something else is expected. */
static void assert_stays(struct example example, const uint64_t *expected, uint64_t number,
                         size_t size)
{
    uint8_t before[200];
    size_t whole = (size_t)(example.end - example.start);

    assert_in_range(whole, 1, sizeof before);
    memcpy(before, example.start, whole);
    short_adds_new_block();
    short_adds_expect(expected, number);
    short_adds_make(example.start, size);
    assert_memory_equal(before, example.start, whole);
}

static void test_what_is_not_the_same_in_each_byte_stays(void **state)
{
    struct example all[] = {EXAMPLE(spilled), EXAMPLE(loaded_elsewhere)};
    struct example both = EXAMPLE(two);

    (void)state;
    assert_false(shortened(EXAMPLE(too_many), 128));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_stays(all[i], &word, 5, (size_t)(all[i].end - all[i].start));
    assert_stays(both, &word, 3, (size_t)(both.end - both.start));
    assert_stays(both, &other_word, 2, (size_t)(both.end - both.start));
    /* The last 32 bits of the distance are the same. */
    assert_stays(both, (uint64_t *)((uintptr_t)&word + (UINT64_C(1) << 32)), 2,
                 (size_t)(both.end - both.start));
}

/* A page that cannot be read lies behind the code. */
static void test_nothing_is_read_behind_the_code(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct example both = EXAMPLE(two);
    uint8_t *pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    for (size_t size = 0; size <= (size_t)(both.end - both.start); size++) {
        memcpy(pages + page - size, both.start, size);
        short_adds_new_block();
        short_adds_expect(&word, 2);
        short_adds_make(pages + page - size, size);
    }
    /* A sequence that is cut is none. */
    for (size_t size = 0; size < 3 + 17; size++)
        assert_stays(both, &word, 2, size);
    munmap(pages, 2 * page);
}

static void test_a_block_that_adds_to_a_word_twice_stays(void **state)
{
    struct example both = EXAMPLE(two);
    uint64_t made = short_adds_tally().made, words[20];
    size_t size = (size_t)(both.end - both.start);

    (void)state;
    short_adds_new_block();
    short_adds_expect(&word, 2);
    short_adds_expect(&other_word, 3);
    short_adds_expect(&word, 1);
    short_adds_make(both.start, size);
    assert_int_equal(short_adds_tally().made, made);
    /* Nor one with more words than are kept. */
    short_adds_new_block();
    short_adds_expect(&word, 2);
    for (size_t i = 0; i < 20; i++)
        short_adds_expect(&words[i], 1);
    short_adds_make(both.start, size);
    assert_int_equal(short_adds_tally().made, made);
    /* What was expected of another block is forgotten. */
    short_adds_new_block();
    short_adds_make(both.start, size);
    assert_int_equal(short_adds_tally().made, made);
}

static void test_several_additions(void **state)
{
    struct example both = EXAMPLE(two);
    uint64_t made = short_adds_tally().made;

    (void)state;
    short_adds_new_block();
    short_adds_expect(&word, 2);
    short_adds_expect(&other_word, 3);
    short_adds_make(both.start, (size_t)(both.end - both.start));
    assert_int_equal(short_adds_tally().made, made + 2);
    word = other_word = 0;
    call(both);
    assert_int_equal(word, 2);
    assert_int_equal(other_word, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_additions_become_one_instruction),
        cmocka_unit_test(test_what_is_not_the_same_in_each_byte_stays),
        cmocka_unit_test(test_nothing_is_read_behind_the_code),
        cmocka_unit_test(test_a_block_that_adds_to_a_word_twice_stays),
        cmocka_unit_test(test_several_additions),
    };

    return cmocka_run_group_tests(tests, make_writable, NULL);
}
