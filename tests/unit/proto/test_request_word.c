/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/request_word.h"

static bool is_log(const char *message)
{
    return request_is_log((struct iovec){(char *)message, strlen(message)});
}

static void console_calls_and_test_lines_are_logs(void **state)
{
    (void)state;
    assert_true(is_log("[\"sourcedConsole\",\"ls\",\"log\"]"));
    assert_true(is_log("[\"testLog\",[]]"));
    assert_true(is_log(" [\n\t\"testLog\" ]"));
}

static void everything_else_is_not(void **state)
{
    static const char *const others[] = {
        "",
        " ",
        "[",
        "[ ",
        "[]",
        "\"testLog\"",
        "[[\"testLog\"]]",
        "[\"testLog",
        "[\"testLogs\"]",
        "[\"sourcedConsole",
        "[\"syscall\",[\"vatstoreGet\",\"testLog\"]]",
        "[,\"testLog\"]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(is_log(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(console_calls_and_test_lines_are_logs),
        cmocka_unit_test(everything_else_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
