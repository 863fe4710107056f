/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/runtime/contract_file.h"

static void finds(const char *problem, const char *line, const char *expected)
{
    struct buf callee = {0};
    const bool found = callee_find(problem, line, &callee);

    assert_int_equal(found, expected != NULL);
    if (expected != NULL)
        assert_string_equal(buf_string(&callee), expected);
    else
        assert_int_equal(callee.length, 0);
    buf_free(&callee);
}

static void callee_of_a_line_is_named(void **state)
{
    static const char words[] = "TypeError: buy: no function";

    (void)state;
    finds(words, "const now = Date.now();", "Date.now");
    finds(words, "return a?.b.c (1, 2);", "a?.b.c");
    finds(words, "if (f(g(1)) > 2) return f(3);", "f or g");
    finds(words, "say('call(me)', \"or(you)\", `and(us)`); // not(this)", "say");
    finds(words, "const f = function g(x) { return h(x); };", "h");
    finds("TypeError: buy: no constructor", "return new Clock(1);", "Clock");
}

static void other_problems_and_lines_have_none(void **state)
{
    (void)state;
    finds("TypeError: buy: no function", "return (1)(2);", NULL);
    finds("TypeError: buy: no function", "", NULL);
    finds("TypeError: buy: no function", "'open(", NULL);
    finds("TypeError: buy: no function", "\"\\", NULL);
    finds("RangeError: no", "f();", NULL);
    finds(NULL, "f();", NULL);
    finds("TypeError: buy: no function", NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callee_of_a_line_is_named),
        cmocka_unit_test(other_problems_and_lines_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
