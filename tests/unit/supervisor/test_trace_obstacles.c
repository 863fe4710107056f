/* SPDX-License-Identifier: Apache-2.0 */
/* Errors that stop a tracer name the setting to change. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/trace/trace_obstacles.h"

enum { PROCESS = 123, OWN = 1000 };

static void assert_refused(struct trace_obstacles obstacles, int errnum, const char *words)
{
    struct error error;

    assert_int_equal(trace_obstacles_refuse(&obstacles, PROCESS, errnum, OWN, &error), -1);
    assert_int_equal(error.kind, ERROR_INPUT);
    if (strstr(error.text, words) == NULL || strchr(error.text, '\n') != NULL)
        fail_msg("'%s' in: %s", words, error.text);
}

static void test_words(void **state)
{
    (void)state;
    assert_refused((struct trace_obstacles){.user = OWN}, ESRCH, "no process 123");
    assert_refused((struct trace_obstacles){.user = OWN, .tracer = 7, .yama = 1}, EPERM,
                   "process 7 traces it already");
    assert_refused((struct trace_obstacles){.user = 0, .yama = 1}, EPERM, "belongs to user 0");
    assert_refused((struct trace_obstacles){.user = OWN, .yama = 1}, EPERM,
                   "kernel.yama.ptrace_scope is 1; gaspipe trace can start the program itself, or "
                   "needs CAP_SYS_PTRACE");
    assert_refused((struct trace_obstacles){.user = OWN, .yama = 3}, EPERM,
                   "kernel.yama.ptrace_scope is 3; gaspipe trace can start the program itself");
    assert_refused((struct trace_obstacles){.user = OWN}, EPERM, "ptrace is not permitted here");
    assert_refused((struct trace_obstacles){.user = OWN}, EIO, strerror(EIO));
}

static void test_status(void **state)
{
    static const char plain[] = "Name:\tshstk\nTracerPid:\t0\nUid:\t1000\t0\t0\t0\n"
                                "x86_Thread_features:\t\nSeccomp:\t0\nx86_Thread_features_locked:"
                                "\tshstk\n";
    struct trace_obstacles obstacles = {.user = -1};
    struct error error;

    (void)state;
    trace_obstacles_read_status(&obstacles, plain);
    assert_int_equal(obstacles.user, 1000);
    assert_int_equal(obstacles.tracer, 0);
    assert_false(obstacles.shadow_stack);
    assert_int_equal(trace_obstacles_check(&obstacles, PROCESS, &error), 0);
    trace_obstacles_read_status(&obstacles, "TracerPid:\t17\nx86_Thread_features:\tshstk wrss\n");
    assert_int_equal(obstacles.tracer, 17);
    assert_true(obstacles.shadow_stack);
    assert_int_equal(trace_obstacles_check(&obstacles, PROCESS, &error), -1);
    assert_non_null(strstr(error.text, "shadow stack (CET)"));
    trace_obstacles_read_status(&obstacles, "Seccomp:\t2\n");
    assert_int_equal(trace_obstacles_check(&obstacles, PROCESS, &error), -1);
    assert_non_null(strstr(error.text, "confined by seccomp"));
    trace_obstacles_read_status(&obstacles, "Seccomp:\t0\nSigIgn:\t0000000000000400\n");
    assert_int_equal(trace_obstacles_check(&obstacles, PROCESS, &error), -1);
    assert_non_null(strstr(error.text, "ignores SIGSEGV"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
