/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/json/json_text.h"

static void text_of(struct buf *buf, const char *expected)
{
    assert_string_equal(buf_string(buf), expected);
    buf_free(buf);
}

static void strings_are_quoted_and_escaped(void **state)
{
    static const char bytes[] = "a\"b\\c\nd\te\rf\x01g\x1fh\x7fi\xc3\xa9";
    struct buf buf = {0};

    (void)state;
    json_text_string(&buf, bytes, sizeof bytes - 1);
    text_of(&buf, "\"a\\\"b\\\\c\\nd\\te\\rf\\u0001g\\u001fh\x7fi\xc3\xa9\"");
}

/* The code looks at eight bytes at a time: tests any position of a text, and any other byte next to
 * it. */
static void single_byte_is_escaped_at_any_position(void **state)
{
    static const char *const others = "a\x7f\x80\xff !#[]";

    (void)state;
    for (size_t at = 0; at < 20; at++) {
        for (int byte = 1; byte < 256; byte++) {
            const bool escaped = byte < 0x20 || byte == '"' || byte == '\\';
            char text[20];
            struct buf buf = {0};

            memset(text, others[(size_t)byte % strlen(others)], sizeof text);
            text[at] = (char)byte;
            json_text_escape(&buf, text, sizeof text);
            assert_true((buf.length > sizeof text) == escaped);
            assert_memory_equal(buf.data, text, at);
            assert_true((buf.data[at] == '\\') == escaped);
            assert_memory_equal(buf.data + buf.length - (sizeof text - at - 1), text + at + 1,
                                sizeof text - at - 1);
            buf_free(&buf);
        }
    }
}

static void a_string_of_nothing_is_two_quotes(void **state)
{
    struct buf buf = {0};

    (void)state;
    json_text_string(&buf, "", 0);
    text_of(&buf, "\"\"");
}

/* jansson is the judge: every byte of ASCII, '\0' too, survives. */
static void every_ascii_byte_survives_a_strict_reader(void **state)
{
    struct buf buf = {0};
    char bytes[128];
    json_t *value;

    (void)state;
    for (int i = 0; i < 128; i++)
        bytes[i] = (char)i;
    json_text_string(&buf, bytes, sizeof bytes);
    value = json_loadb(buf.data, buf.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(value);
    assert_int_equal(json_string_length(value), sizeof bytes);
    assert_memory_equal(json_string_value(value), bytes, sizeof bytes);
    json_decref(value);
    buf_free(&buf);
}

static void times_have_all_their_decimals(void **state)
{
    static const struct {
        int64_t number;
        const char *seconds, *nanoseconds;
    } cases[] = {
        {0, "0.000000", "0.000000000"},
        {1, "0.000001", "0.000000001"},
        {-1, "-0.000001", "-0.000000001"},
        {1000000, "1.000000", "0.001000000"},
        {1763688000000042, "1763688000.000042", "1763688.000000042"},
        {INT64_MAX, "9223372036854.775807", "9223372036.854775807"},
        {INT64_MIN, "-9223372036854.775808", "-9223372036.854775808"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf seconds = {0}, nanoseconds = {0};

        json_text_seconds(&seconds, cases[i].number);
        text_of(&seconds, cases[i].seconds);
        json_text_nanoseconds(&nanoseconds, cases[i].number);
        text_of(&nanoseconds, cases[i].nanoseconds);
    }
}

static void integers_reach_both_ends(void **state)
{
    struct buf buf = {0};

    (void)state;
    json_text_integer(&buf, INT64_MIN);
    buf_append_byte(&buf, ' ');
    json_text_integer(&buf, 0);
    buf_append_byte(&buf, ' ');
    json_text_integer(&buf, INT64_MAX);
    buf_append_byte(&buf, ' ');
    json_text_unsigned(&buf, UINT64_MAX);
    text_of(&buf, "-9223372036854775808 0 9223372036854775807 18446744073709551615");
}

static void number_against_printf(uint64_t number)
{
    struct buf written = {0}, printed = {0};
    uint64_t magnitude = (int64_t)number < 0 ? -number : number;
    const char *sign = (int64_t)number < 0 ? "-" : "";

    json_text_unsigned(&written, number);
    json_text_integer(&written, (int64_t)number);
    json_text_seconds(&written, (int64_t)number);
    json_text_nanoseconds(&written, (int64_t)number);
    buf_printf(&printed, "%" PRIu64 "%" PRId64, number, (int64_t)number);
    buf_printf(&printed, "%s%" PRIu64 ".%06" PRIu64, sign, magnitude / 1000000,
               magnitude % 1000000);
    buf_printf(&printed, "%s%" PRIu64 ".%09" PRIu64, sign, magnitude / 1000000000,
               magnitude % 1000000000);
    text_of(&written, buf_string(&printed));
    buf_free(&printed);
}

/* The numbers at which one more digit begins, and some in between. */
static void numbers_come_out_as_printf_has_them(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (uint64_t power = 1;; power *= 10) {
        number_against_printf(power - 1);
        number_against_printf(power);
        number_against_printf(-power);
        if (power > UINT64_MAX / 10)
            break;
    }
    for (int i = 0; i < 20000; i++) {
        /* Knuth's MMIX generator (The Art of Computer Programming, vol. 2, 3.3.4). */
        random = random * 6364136223846793005U + 1442695040888963407U;
        number_against_printf(random >> i % 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_quoted_and_escaped),
        cmocka_unit_test(single_byte_is_escaped_at_any_position),
        cmocka_unit_test(a_string_of_nothing_is_two_quotes),
        cmocka_unit_test(every_ascii_byte_survives_a_strict_reader),
        cmocka_unit_test(times_have_all_their_decimals),
        cmocka_unit_test(integers_reach_both_ends),
        cmocka_unit_test(numbers_come_out_as_printf_has_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
