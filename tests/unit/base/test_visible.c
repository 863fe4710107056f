/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
}

static void text_direction_marks_become_blanks(void **state)
{
    (void)state;
    /* NOLINTNEXTLINE(misc-misleading-bidirectional): it is what is tested */
    becomes("a\342\200\256b", "a   b");                              /* U+202E */
    becomes("\342\200\250\342\201\246\342\201\251x", "         x");  /* U+2028, U+2066, U+2069 */
    becomes("\330\234\342\200\217", "     ");                        /* U+061C, U+200F */
    becomes("\342\200\247\342\200\257", "\342\200\247\342\200\257"); /* U+2027, U+202F */
}

static void bytes_that_are_not_utf_8_become_blanks(void **state)
{
    (void)state;
    becomes("\2331mx\200", " 1mx "); /* C1 as one byte */
    becomes("cut \302", "cut  ");
    becomes("\300\233\340\202\233", "     "); /* ESC and U+009B, too long */
    becomes("\355\240\200", "   ");           /* half a surrogate pair */
    becomes("\364\220\200\200\377", "     ");
}

/* ---- lines ---- */

static void is_written(const char *lines, const char *expected)
{
    char written[256];
    int ends[2];
    ssize_t length;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(visible_write(ends[1], lines, strlen(lines)), 0);
    close(ends[1]);
    length = read(ends[0], written, sizeof written - 1);
    close(ends[0]);
    assert_true(length >= 0);
    written[length] = '\0';
    assert_string_equal(written, expected);
}

static void lines_keep_their_layout(void **state)
{
    (void)state;
    is_written("", "");
    is_written("a\tb\nc\r\n\033[31mred\033[0m\n", "a\tb\nc\r\n\033[31mred\033[0m\n");
    is_written("\303\244\342\202\254\n", "\303\244\342\202\254\n");
}

static void lines_show_what_is_invisible_as_escapes(void **state)
{
    (void)state;
    is_written("{\"a\":\"\342\200\256x\302\233\177\"}\n", "{\"a\":\"\\u202ex\\u009b\\u007f\"}\n");
    is_written("\033]0;title\007\rover\b\n", "\\u001b]0;title\\u0007\\u000dover\\u0008\n");
    is_written("\2331m\302", "\\ufffd1m\\ufffd");
}

/* Lines are looked at many bytes at a time: each place among these, and at the end. */
static void invisible_characters_are_found_at_each_position(void **state)
{
    static const struct {
        char byte;
        const char *escape;
    } bytes[] = {{'\033', "\\u001b"}, {'\177', "\\u007f"}, {'\237', "\\ufffd"}, {'\n', "\n"}};

    (void)state;
    for (size_t length = 1; length < 50; length++) {
        for (size_t at = 0; at < length; at++) {
            for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
                char line[64] = {0}, expected[64] = {0};

                memset(line, 'a', length);
                line[at] = bytes[i].byte;
                memset(expected, 'a', at);
                memcpy(expected + at, bytes[i].escape, strlen(bytes[i].escape));
                memset(expected + strlen(expected), 'a', length - at - 1);
                is_written(line, expected);
            }
        }
    }
}

static void lines_that_cannot_be_written_say_so(void **state)
{
    (void)state;
    assert_int_equal(visible_write(-1, "x", 1), -1);
    assert_int_equal(visible_write(-1, "\177", 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_become_blanks),
        cmocka_unit_test(other_characters_stay),
        cmocka_unit_test(text_direction_marks_become_blanks),
        cmocka_unit_test(bytes_that_are_not_utf_8_become_blanks),
        cmocka_unit_test(lines_keep_their_layout),
        cmocka_unit_test(lines_show_what_is_invisible_as_escapes),
        cmocka_unit_test(invisible_characters_are_found_at_each_position),
        cmocka_unit_test(lines_that_cannot_be_written_say_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
