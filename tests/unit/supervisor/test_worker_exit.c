/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sandbox/contract_filter.h"
#include "supervisor/process/worker_exit.h"

static void assert_ended(int signal_number, const char *stderr_line, const char *words)
{
    char text[256];

    assert_int_equal(worker_exit_describe(0, signal_number, stderr_line, text, sizeof text),
                     ERROR_SYSTEM);
    assert_string_equal(text, words);
}

static void the_filter_names_the_system_call(void **state)
{
    (void)state;
    assert_ended(
        SIGSYS, CONTRACT_FILTER_REFUSES "socket",
        "its worker was killed by signal 31: contracts may not make the system call socket");
    assert_ended(SIGSYS, CONTRACT_FILTER_REFUSES "9999",
                 "its worker was killed by signal 31: contracts may not make the system call 9999");
}

static void invalid_names_are_not_printed(void **state)
{
    const char *plain = "its worker was killed by signal 31 (Bad system call)";

    (void)state;
    assert_ended(SIGSYS, "", plain);
    assert_ended(SIGSYS, CONTRACT_FILTER_REFUSES, plain);
    assert_ended(SIGSYS, CONTRACT_FILTER_REFUSES "socket; call 555-1234", plain);
    assert_ended(SIGSYS, "all is fine", plain);
    assert_ended(SIGKILL, CONTRACT_FILTER_REFUSES "socket",
                 "its worker was killed by signal 9 (Killed)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_filter_names_the_system_call),
        cmocka_unit_test(invalid_names_are_not_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
