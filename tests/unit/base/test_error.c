/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

static void it_holds_kind_and_words(void **state)
{
    struct error error;

    (void)state;
    assert_int_equal(error_set(&error, ERROR_INPUT, "%s:%d: no JSON", "file", 3), -1);
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_string_equal(error.text, "file:3: no JSON");
}

static void system_error_text_follows_the_message(void **state)
{
    struct error error;

    (void)state;
    assert_int_equal(error_system(&error, ENOSPC, "writing %s", "x.slog"), -1);
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_string_equal(error.text, "writing x.slog: No space left on device");
}

static void context_stands_before_the_cause_and_keeps_its_kind(void **state)
{
    struct error error;

    (void)state;
    error_set(&error, ERROR_INPUT, "unknown method");
    assert_int_equal(error_prefix(&error, "line %d", 7), -1);
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_string_equal(error.text, "line 7: unknown method");
}

static void words_too_long_are_cut_and_terminated(void **state)
{
    struct error error;

    (void)state;
    error_system(&error, EIO, "%0*d", 2 * ERROR_TEXT_SIZE, 1);
    assert_int_equal(strlen(error.text), ERROR_TEXT_SIZE - 1);
    error_prefix(&error, "%0*d", 2 * ERROR_TEXT_SIZE, 1);
    assert_int_equal(strlen(error.text), ERROR_TEXT_SIZE - 1);
    error_set(&error, ERROR_INPUT, "%0*d", ERROR_TEXT_SIZE - 1, 1);
    error_prefix(&error, "context");
    assert_int_equal(strlen(error.text), ERROR_TEXT_SIZE - 1);
    assert_memory_equal(error.text, "context: 000", 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_kind_and_words),
        cmocka_unit_test(system_error_text_follows_the_message),
        cmocka_unit_test(context_stands_before_the_cause_and_keeps_its_kind),
        cmocka_unit_test(words_too_long_are_cut_and_terminated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
