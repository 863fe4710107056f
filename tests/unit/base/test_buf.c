/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static void text_of(struct buf *buf, const char *expected)
{
    assert_string_equal(buf_string(buf), expected);
    assert_int_equal(buf->length, strlen(expected));
}

static void an_empty_buffer_is_an_empty_string(void **state)
{
    struct buf buf = {0};

    (void)state;
    text_of(&buf, "");
    buf_free(&buf);
}

static void numbers_are_grouped_and_aligned(void **state)
{
    static const struct {
        const char *number;
        int width;
        const char *grouped;
    } cases[] = {
        {"0", 0, "0"},
        {"999", 5, "  999"},
        {"1000", 0, "1,000"},
        {"-100", 0, "-100"},
        {"-1234567", 0, "-1,234,567"},
        {"1234.5678", 11, " 1,234.5678"},
        {"-", 3, "  -"},
        {"18446744073709551615", 0, "18,446,744,073,709,551,615"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf buf = {0};

        buf_append_grouped(&buf, cases[i].width, cases[i].number);
        text_of(&buf, cases[i].grouped);
        buf_free(&buf);
    }
}

static void appends_of_every_kind_stand_in_their_order(void **state)
{
    struct buf buf = {0};

    (void)state;
    assert_int_equal(buf_append(&buf, "abc", 2), 0);
    assert_int_equal(buf_append_string(&buf, "-text-"), 0);
    assert_int_equal(buf_append_byte(&buf, '+'), 0);
    assert_int_equal(buf_printf(&buf, "%d %s", 42, "words"), 0);
    assert_int_equal(buf_append(&buf, NULL, 0), 0);
    text_of(&buf, "ab-text-+42 words");
    buf_free(&buf);
}

static void it_grows_byte_by_byte_and_in_leaps(void **state)
{
    enum { BYTES = 100000, LEAP = 1 << 20 };
    static const char leap[LEAP];
    struct buf buf = {0};

    (void)state;
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(buf_append_byte(&buf, (char)i), 0);
    assert_int_equal(buf_append(&buf, leap, LEAP), 0);
    assert_int_equal(buf.length, BYTES + LEAP);
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(buf.data[i], (char)i);
    buf_free(&buf);
}

static void text_longer_than_any_fixed_array_is_printed_whole(void **state)
{
    struct buf buf = {0};

    (void)state;
    assert_int_equal(buf_printf(&buf, "%0*d", 70000, 7), 0);
    assert_int_equal(buf.length, 70000);
    assert_int_equal(buf.data[69999], '7');
    buf_free(&buf);
}

static void consumption_takes_from_the_front(void **state)
{
    struct buf buf = {0};

    (void)state;
    buf_append_string(&buf, "abcdef");
    buf_consume(&buf, 0);
    buf_consume(&buf, 2);
    text_of(&buf, "cdef");
    buf_consume(&buf, 4);
    text_of(&buf, "");
    buf_free(&buf);
}

/* The writer of a line appends many times and looks once. */
static void a_failure_stays_and_keeps_what_was_there(void **state)
{
    struct buf buf = {0};

    (void)state;
    buf_append_string(&buf, "kept");
    assert_int_equal(buf_reserve(&buf, SIZE_MAX), -1);
    assert_true(buf_failed(&buf));
    assert_int_equal(buf_append_string(&buf, "lost"), -1);
    assert_int_equal(buf_printf(&buf, "lost"), -1);
    assert_null(buf_string(&buf));
    assert_int_equal(buf.length, 4);
    assert_memory_equal(buf.data, "kept", 4);
    buf_clear(&buf);
    assert_int_equal(buf_append_string(&buf, "again"), 0);
    text_of(&buf, "again");
    buf_free(&buf);
}

static void memory_that_is_not_there_is_a_failure(void **state)
{
    struct buf buf = {0};

    (void)state;
    buf_append_string(&buf, "kept");
    assert_int_equal(buf_reserve(&buf, SIZE_MAX / 2), -1);
    assert_true(buf_failed(&buf));
    assert_memory_equal(buf.data, "kept", 4);
    buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_is_an_empty_string),
        cmocka_unit_test(numbers_are_grouped_and_aligned),
        cmocka_unit_test(appends_of_every_kind_stand_in_their_order),
        cmocka_unit_test(it_grows_byte_by_byte_and_in_leaps),
        cmocka_unit_test(text_longer_than_any_fixed_array_is_printed_whole),
        cmocka_unit_test(consumption_takes_from_the_front),
        cmocka_unit_test(a_failure_stays_and_keeps_what_was_there),
        cmocka_unit_test(memory_that_is_not_there_is_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
