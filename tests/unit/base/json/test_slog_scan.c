/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/json/scan.h"
#include "base/json/skip.h"

/* A copy of text with the padding that the scanner wants, at each of 64 alignments in turn. */
static char *padded(const char *text, size_t shift, char **block)
{
    size_t length = strlen(text);

    *block = malloc(shift + length + SCAN_PADDING);
    assert_non_null(*block);
    memset(*block, '"', shift + length + SCAN_PADDING);
    memcpy(*block + shift, text, length);
    return *block + shift;
}

static struct scan_span span_of(const char *text)
{
    return (struct scan_span){text, strlen(text)};
}

/* "KEY=VALUE;…" of an object, then `ok`, or `bad` where the scanner failed. */
static void members_of(const char *json, size_t shift, struct buf *found)
{
    struct scan_span key, value;
    struct scan_cursor cursor;
    enum scan_step step = SCAN_BAD;
    char *block, *text = padded(json, shift, &block);

    buf_clear(found);
    if (scan_open((struct scan_span){text, strlen(json)}, '{', &cursor)) {
        while ((step = scan_member(&cursor, &key, &value)) == SCAN_FOUND)
            buf_printf(found, "%.*s=%.*s;", (int)key.length, key.at, (int)value.length, value.at);
    }
    buf_append_string(found, step == SCAN_END && scan_at_end(&cursor) ? "ok" : "bad");
    assert_non_null(buf_string(found));
    free(block);
}

static void expect_members(const char *json, const char *expected)
{
    struct buf found = {0};

    for (size_t shift = 0; shift < 64; shift++) {
        members_of(json, shift, &found);
        assert_string_equal(found.data, expected);
    }
    buf_free(&found);
}

static void finds_members(void **state)
{
    (void)state;
    expect_members("{}", "ok");
    expect_members(" { } ", "ok");
    expect_members("{\"a\":1}", "a=1;ok");
    expect_members("{\"a\":\"x\",\"b\":[1,{\"c\":\"]\"}],\"d\":null}",
                   "a=\"x\";b=[1,{\"c\":\"]\"}];d=null;ok");
    expect_members("{ \"a\" : -1.5e3 , \"b\" : true }", "a=-1.5e3;b=true;ok");
    expect_members("{\"a\":\"q\\\"\\\\\",\"b\":\"\\\\\"}", "a=\"q\\\"\\\\\";b=\"\\\\\";ok");
    expect_members("{\"a\":[\"}\\\"]\",\"[{\"]}", "a=[\"}\\\"]\",\"[{\"];ok");
}

static void refuses_what_does_not_close(void **state)
{
    static const char *const bad[] = {"{",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "{\"a\":1,",
                                      "{\"a\":1,}",
                                      "{\"a\":\"x}",
                                      "{\"a\":[1}",
                                      "{\"a\":[1]",
                                      "{\"a\" 1}",
                                      "{a:1}",
                                      "{\"a\":1 \"b\":2}",
                                      "{\"a\":,}",
                                      "{\"a\":\"x\\\"}",
                                      "{\"a\":1}}",
                                      "{\"a\":1}{\"b\":2}",
                                      "{\"a\":[\"]}",
                                      "",
                                      "[1]",
                                      "{,}"};
    struct buf found = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        members_of(bad[i], i, &found);
        if (strcmp(found.data + found.length - 3, "bad") != 0)
            fail_msg("taken: %s: %s", bad[i], found.data);
    }
    buf_free(&found);
}

/* A value whose end lies at every place of a block, with escapes across its edge. */
static void expect_long_value(const char *piece, size_t count)
{
    struct buf json = {0}, expected = {0};

    buf_append_string(&json, "{\"a\":{\"b\":[\"");
    for (size_t i = 0; i < count; i++)
        buf_append_string(&json, piece);
    buf_append_string(&json, "\",[]]},\"z\":\"\"}");
    buf_append_string(&expected, "a=");
    buf_append(&expected, json.data + strlen("{\"a\":"),
               json.length - strlen("{\"a\":,\"z\":\"\"}"));
    buf_append_string(&expected, ";z=\"\";ok");
    expect_members(buf_string(&json), buf_string(&expected));
    buf_free(&json);
    buf_free(&expected);
}

static void finds_the_end_of_long_values(void **state)
{
    static const char *const pieces[] = {"x", "\\\\", "\\\"", "[", "}", "\\u0000"};

    (void)state;
    for (size_t piece = 0; piece < sizeof pieces / sizeof pieces[0]; piece++) {
        for (size_t count = 0; count < 140; count += 7)
            expect_long_value(pieces[piece], count);
    }
}

static int64_t decimal(const char *text, int scale)
{
    int64_t number = 77;

    if (!scan_decimal(span_of(text), scale, &number))
        return INT64_MIN;
    return number;
}

static void reads_decimals(void **state)
{
    (void)state;
    assert_int_equal(decimal("1795219387.791765", 6), 1795219387791765);
    assert_int_equal(decimal("13.072180093", 9), 13072180093);
    assert_int_equal(decimal("17.297123393000003", 9), 17297123393);
    assert_int_equal(decimal("0.0000005", 6), 1);
    assert_int_equal(decimal("0.0000004", 6), 0);
    assert_int_equal(decimal("-0.25", 6), -250000);
    assert_int_equal(decimal("5", 0), 5);
    assert_int_equal(decimal("5e-7", 9), 500);
    assert_int_equal(decimal("1.5e3", 0), 1500);
    assert_int_equal(decimal("9223372036854774784", 0), 9223372036854774784);
    assert_int_equal(decimal("12345678901234567890123", 0), INT64_MIN);
    assert_int_equal(decimal("null", 0), INT64_MIN);
    assert_int_equal(decimal("", 0), INT64_MIN);
    assert_int_equal(decimal("-", 0), INT64_MIN);
    assert_int_equal(decimal("1x", 0), INT64_MIN);
    assert_int_equal(decimal("inf", 0), INT64_MIN);
}

/* `digits` digits of a fixed series that begins somewhere else each time. */
static int64_t append_digits(struct buf *text, unsigned digits, unsigned *series)
{
    int64_t number = 0;

    for (unsigned i = 0; i < digits; i++) {
        *series = *series * 1103515245 + 12345;
        number = number * 10 + *series / 65536 % 10;
        buf_append_byte(text, (char)('0' + *series / 65536 % 10));
    }
    return number;
}

static int64_t power_of_ten(unsigned exponent)
{
    return exponent == 0 ? 1 : 10 * power_of_ten(exponent - 1);
}

/* The number that scan_decimal() shall find, by way of whole numbers alone. */
static void expect_decimal(unsigned whole, unsigned fraction, unsigned scale, unsigned *series)
{
    struct buf text = {0};
    int64_t expected = append_digits(&text, whole, series) * power_of_ten(scale), decimals;

    buf_append_byte(&text, '.');
    decimals = append_digits(&text, fraction, series);
    if (fraction <= scale)
        expected += decimals * power_of_ten(scale - fraction);
    else
        expected += (decimals / power_of_ten(fraction - scale - 1) + 5) / 10;
    if (decimal(buf_string(&text), (int)scale) != expected)
        fail_msg("%s at scale %u", text.data, scale);
    buf_free(&text);
}

static void reads_decimals_of_every_length(void **state)
{
    unsigned series = 1;

    (void)state;
    for (unsigned scale = 0; scale <= 9; scale++) {
        for (unsigned whole = 1; whole <= 18 - scale; whole++) {
            for (unsigned fraction = 0; fraction <= 18; fraction++) {
                /* Beyond these the result goes by way of a double. */
                if (whole < 16)
                    expect_decimal(whole, fraction, scale, &series);
            }
        }
    }
}

static void reads_numbers_of_any_size(void **state)
{
    double number;

    (void)state;
    assert_true(scan_double(span_of("12345678901234567890123"), &number));
    assert_true(number > 1.2e22 && number < 1.3e22);
    assert_true(scan_double(span_of("1e300"), &number));
    assert_false(scan_double(span_of("1e999"), &number));
    assert_false(scan_double(span_of("nan"), &number));
    assert_false(scan_double(span_of("\"1\""), &number));
}

static void expect_text(const char *escaped, const char *expected, size_t length)
{
    struct buf text = {0};

    scan_unescape(span_of(escaped), &text);
    assert_int_equal(text.length, length);
    assert_memory_equal(buf_string(&text), expected, length);
    buf_free(&text);
}

static void unescapes(void **state)
{
    (void)state;
    expect_text("plain", "plain", 5);
    expect_text("a\\n\\t\\\"\\\\\\/", "a\n\t\"\\/", 6);
    expect_text("\\u0000", "\0", 1);
    expect_text("\\u00e9\\u20AC", "\xc3\xa9\xe2\x82\xac", 5);
    expect_text("\\ud83d\\ude00", "\xf0\x9f\x98\x80", 4);
    expect_text("\\ud83d", "\xef\xbf\xbd", 3);
    expect_text("\\ude00x", "\xef\xbf\xbdx", 4);
    expect_text("\\ud83d\\u0041",
                "\xef\xbf\xbd"
                "A",
                4);
    expect_text("\\u12",
                "\xef\xbf\xbd"
                "12",
                5);
    expect_text("\\q", "\xef\xbf\xbd", 3);
    expect_text("x\\", "x", 1);
}

/* Once for each set of instructions that this CPU has. */
static int skips_in_every_way(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_members),
        cmocka_unit_test(refuses_what_does_not_close),
        cmocka_unit_test(finds_the_end_of_long_values),
    };
    int failed = 0;

    for (enum skip_way way = 0; way < SKIP_WAYS; way++) {
        if (skip_choose(way))
            failed += cmocka_run_group_tests(tests, NULL, NULL);
        else
            print_message("this CPU cannot skip in way %d: left out\n", way);
    }
    return failed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_decimals),
        cmocka_unit_test(reads_decimals_of_every_length),
        cmocka_unit_test(reads_numbers_of_any_size),
        cmocka_unit_test(unescapes),
    };

    return skips_in_every_way() + cmocka_run_group_tests(tests, NULL, NULL);
}
