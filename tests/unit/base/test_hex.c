/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/number.h"

static void each_byte_is_two_digits(void **state)
{
    static const unsigned char bytes[] = {0x00, 0x09, 0xa0, 0xff};
    char text[HEX_SIZE(sizeof bytes) + 1];

    (void)state;
    memset(text, 'x', sizeof text);
    hex_write(text, bytes, sizeof bytes);
    assert_memory_equal(text, "0009a0ff\0x", sizeof text);
}

static void no_bytes_are_an_empty_string(void **state)
{
    char text[HEX_SIZE(0)] = "x";

    (void)state;
    hex_write(text, "", 0);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_is_two_digits),
        cmocka_unit_test(no_bytes_are_an_empty_string),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
