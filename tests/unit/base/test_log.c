/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

enum { LONGEST = 4096, MUCH = 3 * LONGEST };

/* Stores what log_line() writes to stderr for one line of `text`. */
static void logged(const char *text, char out[MUCH])
{
    int ends[2], saved;
    ssize_t got;

    assert_int_equal(pipe(ends), 0);
    saved = dup(2);
    assert_true(saved >= 0);
    assert_int_equal(dup2(ends[1], 2), 2);
    log_line("%s", text);
    assert_int_equal(dup2(saved, 2), 2);
    close(saved);
    close(ends[1]);
    got = read(ends[0], out, MUCH - 1);
    assert_true(got >= 0);
    out[got] = '\0';
    close(ends[0]);
}

static void a_line_bears_the_programs_name(void **state)
{
    char out[MUCH];

    (void)state;
    log_name("gaspipe-worker");
    logged("words", out);
    assert_string_equal(out, "gaspipe-worker: words\n");
}

/* A contract's text cannot imitate a line of gaspipe. */
static void newlines_inside_become_blanks(void **state)
{
    char out[MUCH];

    (void)state;
    log_name("g");
    logged("a\nb\rc\n", out);
    assert_string_equal(out, "g: a b c \n");
}

static void a_long_line_is_cut_and_still_a_line(void **state)
{
    char text[2 * LONGEST], out[MUCH];

    (void)state;
    log_name("g");
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    logged(text, out);
    assert_true(strlen(out) <= LONGEST);
    assert_string_equal(strchr(out, '\n'), "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_bears_the_programs_name),
        cmocka_unit_test(newlines_inside_become_blanks),
        cmocka_unit_test(a_long_line_is_cut_and_still_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
