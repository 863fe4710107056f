/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/lines.h"

/* Checks the lines that lines_next() returns for a text, joined by bars. */
static void lines_are(const char *text, const char *expected)
{
    struct buf buf = {0}, all = {0};
    size_t place = 0, length;
    const char *line;

    buf_append_string(&buf, text);
    while (lines_next(&buf, &place, &line, &length)) {
        buf_append(&all, line, length);
        buf_append_byte(&all, '|');
    }
    assert_false(lines_next(&buf, &place, &line, &length));
    assert_string_equal(buf_string(&all), expected);
    buf_free(&buf);
    buf_free(&all);
}

static void lines_come_one_by_one_with_or_without_a_last_newline(void **state)
{
    (void)state;
    lines_are("", "");
    lines_are("\n", "|");
    lines_are("one", "one|");
    lines_are("one\ntwo\n", "one|two|");
    lines_are("one\n\nthree", "one||three|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_one_by_one_with_or_without_a_last_newline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
