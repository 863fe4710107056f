/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/number.h"

static void digits_are_taken_and_no_more(void **state)
{
    const char *at = "18446744073709551615,7";
    uint64_t number;

    (void)state;
    assert_true(number_take(&at, &number));
    assert_true(number == UINT64_MAX);
    assert_string_equal(at, ",7");
    assert_false(number_take(&at, &number));
    at = "18446744073709551616";
    assert_false(number_take(&at, &number));
}

static void rejects_invalid_numbers(void **state)
{
    static const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "11", "1e3"};
    uint64_t number;

    (void)state;
    assert_true(number_read("10", 10, &number));
    assert_int_equal(number, 10);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(number_read(wrong[i], 10, &number));
}

static void an_option_says_its_range(void **state)
{
    struct error error;
    uint64_t number;

    (void)state;
    assert_int_equal(number_option("--jobs", "3", 1, 8, &number, &error), 0);
    assert_int_equal(number, 3);
    assert_int_equal(number_option("--jobs", "0", 1, 8, &number, &error), -1);
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_string_equal(error.text, "--jobs needs a number from 1 to 8, not '0'");
}

static void bytes_have_units(void **state)
{
    static const char *const wrong[] = {
        "0", "", "K", "1T", "1KB", "9223372036854775808", "9007199254740992K", "8589934592G", "-1"};
    struct error error;
    int64_t bytes;

    (void)state;
    assert_int_equal(number_option_bytes("--size", "500", &bytes, &error), 0);
    assert_int_equal(bytes, 500);
    assert_int_equal(number_option_bytes("--size", "3G", &bytes, &error), 0);
    assert_true(bytes == (int64_t)3 << 30);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(number_option_bytes("--size", wrong[i], &bytes, &error), -1);
    assert_string_equal(error.text, "--size needs bytes, such as 500000 or 64M, not '-1'");
}

static void seconds_may_have_a_fraction(void **state)
{
    static const char *const wrong[] = {"", "1s", "nan", "-1", "10.5"};
    struct error error;
    uint64_t milliseconds;

    (void)state;
    assert_int_equal(number_option_seconds("--wait", "0.0001", 10, &milliseconds, &error), 0);
    assert_int_equal(milliseconds, 1);
    assert_int_equal(number_option_seconds("--wait", "10", 10, &milliseconds, &error), 0);
    assert_int_equal(milliseconds, 10000);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(number_option_seconds("--wait", wrong[i], 10, &milliseconds, &error), -1);
    assert_string_equal(error.text, "--wait needs seconds from 0 to 10, not '10.5'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_taken_and_no_more), cmocka_unit_test(rejects_invalid_numbers),
        cmocka_unit_test(an_option_says_its_range),     cmocka_unit_test(bytes_have_units),
        cmocka_unit_test(seconds_may_have_a_fraction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
