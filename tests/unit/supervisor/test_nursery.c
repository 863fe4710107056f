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

#include "supervisor/process/zygote/nursery.h"

static char *const words[] = {"gaspipe-worker", "-l", "5", NULL};
static char *const others[] = {"gaspipe-worker", "-l", "6", NULL};

/* That reads what is asked, and answers nothing. */
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

static void the_first_starts_afresh_and_then_there_is_a_zygote(void **state)
{
    struct nursery nursery = {0};

    (void)state;
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_AFRESH);
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_BREED);
    nursery_keep(&nursery, start_mute(), words);
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_FORK);
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_FORK);
    nursery_free(&nursery);
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_AFRESH);
    nursery_free(&nursery);
}

static void one_with_other_limits_starts_afresh(void **state)
{
    struct nursery nursery = {.asked = 1};

    (void)state;
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_BREED);
    nursery_keep(&nursery, start_mute(), words);
    assert_int_equal(nursery_choose(&nursery, others), NURSERY_AFRESH);
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_FORK);
    nursery_free(&nursery);
}

static void where_several_are_expected_the_zygote_is_there_with_the_first(void **state)
{
    struct nursery nursery = {0};

    (void)state;
    nursery_expect(&nursery, 4);
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_BESIDE);
    nursery_keep(&nursery, start_mute(), words);
    /* The last of them gains less than it would wait. */
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_FORK);
    assert_int_not_equal(nursery_patience_ms(&nursery), 0);
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_FORK);
    assert_int_equal(nursery_patience_ms(&nursery), 0);
    nursery_free(&nursery);
    nursery_expect(&nursery, 3);
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_AFRESH);
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_BREED);
    assert_int_equal(nursery_patience_ms(&nursery), 0);
    nursery_free(&nursery);
}

static void without_a_zygote_all_start_afresh(void **state)
{
    struct nursery nursery = {.asked = 1};

    (void)state;
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_BREED);
    nursery_keep(&nursery, NULL, words);
    assert_int_equal(nursery_choose(&nursery, words), NURSERY_AFRESH);
    nursery_free(&nursery);
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
    assert_int_equal(zygote_fork(zygote, &(struct zygote_order){.name = "a"},
                                 (int[FORK_REQUEST_FDS]){0, 0, 0, 0}, &pid, error),
                     -1);
    assert_int_equal(pid, 0);
    return zygote;
}

/* Also one that nobody waits for: its end closes the socket. */
static void a_zygote_that_ends_forks_nothing(void **state)
{
    struct error error;
    struct zygote *zygote = asked_in_vain("true", &error);

    (void)state;
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "a zygote does not answer"));
    zygote_end(zygote);
}

/* A shell that leaves a process behind, as a zygote does, and says so by what is no answer. */
static void the_end_of_a_zygote_leaves_no_child_behind(void **state)
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
        cmocka_unit_test(the_first_starts_afresh_and_then_there_is_a_zygote),
        cmocka_unit_test(one_with_other_limits_starts_afresh),
        cmocka_unit_test(where_several_are_expected_the_zygote_is_there_with_the_first),
        cmocka_unit_test(without_a_zygote_all_start_afresh),
        cmocka_unit_test(a_zygote_that_ends_forks_nothing),
        cmocka_unit_test(the_end_of_a_zygote_leaves_no_child_behind),
    };

    return cmocka_run_group_tests_name("nursery", tests, NULL, NULL);
}
