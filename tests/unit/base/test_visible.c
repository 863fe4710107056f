/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/visible.h"

static void becomes(const char *from, const char *to)
{
    char *bytes = strdup(from);

    assert_non_null(bytes);
    visible_bytes(bytes, strlen(bytes));
    assert_string_equal(bytes, to);
    free(bytes);
}

static void control_characters_become_blanks(void **state)
{
    (void)state;
    becomes("", "");
    becomes("plain text", "plain text");
    becomes("\033[31mred\007\n\r\t\177", " [31mred     ");
    becomes("\302\233 31m, \302\200\302\237", "   31m,     ");
}

static void other_characters_stay(void **state)
{
    (void)state;
    becomes("\303\244 \342\202\254 \360\237\230\200", "\303\244 \342\202\254 \360\237\230\200");
    becomes("\302\240\302\277", "\302\240\302\277"); /* U+00A0, U+00BF */
    becomes("cut \302", "cut \302");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_become_blanks),
        cmocka_unit_test(other_characters_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
