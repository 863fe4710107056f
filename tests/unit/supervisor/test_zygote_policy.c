/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/process/zygote.h"

static char *const words[] = {"gaspipe-worker", "-l", "5", NULL};
static char *const others[] = {"gaspipe-worker", "-l", "6", NULL};

/* Starts a zygote that reads requests and never answers. */
static struct zygote *start_mute(void)
{
    static char *const arguments[] = {"sleep", "1000", NULL};
    const int fds[] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const struct child_launch launch = {
        .path = "/bin/sleep",
        .arguments = arguments,
        .environment = environ,
        .fds = fds,
        .fd_count = sizeof fds / sizeof *fds,
    };
    struct error error;
    struct zygote *zygote = zygote_start(&launch, &error);

    assert_non_null(zygote);
    return zygote;
}

static void second_start_makes_zygote(void **state)
{
    struct zygote_policy policy = {0};

    (void)state;
    assert_int_equal(zygote_policy_choose(&policy, words), ZYGOTE_EXECUTE);
    assert_int_equal(zygote_policy_choose(&policy, words), ZYGOTE_START);
    zygote_policy_keep(&policy, start_mute(), words);
    assert_int_equal(zygote_policy_choose(&policy, words), ZYGOTE_FORK);
    assert_int_equal(zygote_policy_choose(&policy, words), ZYGOTE_FORK);
    zygote_policy_free(&policy);
    assert_int_equal(zygote_policy_choose(&policy, words), ZYGOTE_EXECUTE);
    zygote_policy_free(&policy);
}

static void other_arguments_are_executed(void **state)
{
    struct zygote_policy policy = {.asked = 1};

    (void)state;
    assert_int_equal(zygote_policy_choose(&policy, words), ZYGOTE_START);
    zygote_policy_keep(&policy, start_mute(), words);
    assert_int_equal(zygote_policy_choose(&policy, others), ZYGOTE_EXECUTE);
    assert_int_equal(zygote_policy_choose(&policy, words), ZYGOTE_FORK);
    zygote_policy_free(&policy);
}

static void without_zygote_all_are_executed(void **state)
{
    struct zygote_policy policy = {.asked = 1};

    (void)state;
    assert_int_equal(zygote_policy_choose(&policy, words), ZYGOTE_START);
    zygote_policy_keep(&policy, NULL, words);
    assert_int_equal(zygote_policy_choose(&policy, words), ZYGOTE_EXECUTE);
    zygote_policy_free(&policy);
}

/* This script in the place of a zygote, which was asked for a worker in vain. */
static struct zygote *asked_in_vain(char *script, struct error *error)
{
    char *const arguments[] = {"sh", "-c", script, NULL};
    const int fds[] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const struct child_launch launch = {
        .path = "/bin/sh",
        .arguments = arguments,
        .environment = environ,
        .fds = fds,
        .fd_count = sizeof fds / sizeof *fds,
    };
    struct zygote *zygote = zygote_start(&launch, error);
    pid_t pid = 0;

    assert_non_null(zygote);
    assert_int_equal(zygote_fork(zygote, "a", (int[FORK_REQUEST_FDS]){0, 0, 0, 0}, &pid, error),
                     -1);
    assert_int_equal(pid, 0);
    return zygote;
}

/* Even without a waiting caller: its end closes the socket. */
static void a_zygote_that_ends_forks_nothing(void **state)
{
    struct error error;
    struct zygote *zygote = asked_in_vain("true", &error);

    (void)state;
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "a zygote does not answer"));
    zygote_end(zygote);
}

/* A shell that starts a process, as a zygote does, and reports it with an invalid answer. */
static void zygote_exit_leaves_no_child(void **state)
{
    struct error error;
    struct zygote *zygote = asked_in_vain("sleep 600 & echo >&3", &error);

    (void)state;
    zygote_end(zygote);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_start_makes_zygote),
        cmocka_unit_test(other_arguments_are_executed),
        cmocka_unit_test(without_zygote_all_are_executed),
        cmocka_unit_test(a_zygote_that_ends_forks_nothing),
        cmocka_unit_test(zygote_exit_leaves_no_child),
    };

    return cmocka_run_group_tests_name("zygote_policy", tests, NULL, NULL);
}
