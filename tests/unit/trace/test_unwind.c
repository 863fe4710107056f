/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the beginnings of functions in .eh_frame: trace/patch/unwind.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/patch/unwind.h"

enum { ADDRESS = 0x10000 };

static uint8_t bytes[1024];
static size_t length;

static void put(const void *from, size_t size)
{
    assert_true(size <= sizeof bytes - length);
    memcpy(bytes + length, from, size);
    length += size;
}

static void put_word(uint32_t word)
{
    put(&word, sizeof word);
}

/* Writes a CIE for functions whose CFA is rsp + offset on their first instruction; returns its
 * start. */
static size_t put_cie(uint8_t offset)
{
    const uint8_t body[] = {
        1,    'z',  'R',    0,    /* version, augmentation */
        1,    0x78, 16,     1,    /* code and data alignment, return register; length */
        0x1b,                     /* addresses relative to their place, four bytes, signed */
        0x0c, 7,    offset,       /* DW_CFA_def_cfa: rsp */
        0x90, 1,    0,      0, 0, /* DW_CFA_offset: the return address; nops */
        0,    0,    0,
    };
    const size_t at = length;

    put_word(4 + sizeof body);
    put_word(0);
    put(body, sizeof body);
    return at;
}

static void put_fde(size_t cie, uint32_t begin, uint32_t size)
{
    static const uint8_t rest[4]; /* no augmentation; nops */

    put_word(4 + 8 + sizeof rest);
    put_word((uint32_t)(length - cie));
    put_word(begin - (uint32_t)(ADDRESS + length));
    put_word(size);
    put(rest, sizeof rest);
}

static void assert_starts(const uint64_t *expected, size_t count)
{
    struct unwind_start *starts;
    struct error error;
    size_t found;

    assert_int_equal(unwind_starts_read(bytes, length, ADDRESS, &starts, &found, &error), 0);
    assert_int_equal(found, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(starts[i].address, expected[i]);
    free(starts);
}

/* As linkers merge equal CIEs, those of later files' functions stand far before them. */
static void each_range_has_its_own_rules(void **state)
{
    size_t entered, split;

    (void)state;
    length = 0;
    entered = put_cie(8);
    put_fde(entered, 0x1000, 16);
    split = put_cie(16); /* of pieces that functions jump to: no function's entry */
    put_fde(split, 0x2000, 16);
    put_fde(entered, 0x3000, 16);
    put_fde(split, 0x4000, 16);
    put_fde(entered, 0x5000, 16);
    put_word(0);
    assert_starts((const uint64_t[]){0x1000, 0x3000, 0x5000}, 3);
}

static void pointers_to_no_rules_are_passed_over(void **state)
{
    size_t entered;

    (void)state;
    length = 0;
    entered = put_cie(8);
    put_fde(entered + 4, 0x1000, 16);    /* into a CIE */
    put_fde(length, 0x2000, 16);         /* to itself */
    put_fde(entered - 4096, 0x3000, 16); /* before the section */
    put_fde(entered, 0x4000, 16);
    put_word(0);
    assert_starts((const uint64_t[]){0x4000}, 1);
    for (; length > 0; length--) { /* wherever it is cut */
        struct unwind_start *starts = NULL;
        struct error error;
        size_t found;

        if (unwind_starts_read(bytes, length, ADDRESS, &starts, &found, &error) == 0)
            free(starts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_range_has_its_own_rules),
        cmocka_unit_test(pointers_to_no_rules_are_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
