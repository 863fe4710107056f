/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/control_group.h"

static const char unified[] =
    "25 1 0:22 / /sys rw - sysfs sysfs rw\n"
    "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

static void the_current_cgroup_is_found(void **state)
{
    static const struct {
        const char *groups, *mounts, *directory; /* NULL if absent */
    } cases[] = {
        {"0::/user.slice/a.scope\n", unified, "/sys/fs/cgroup/user.slice/a.scope"},
        {"0::/\n", unified, "/sys/fs/cgroup"},
        {"8:pids:/x\n0::/y\n", "1 2 0:1 / /cg/unified rw - cgroup2 none rw\n", "/cg/unified/y"},
        {"0::/a/b/c", "1 2 0:1 /a/b /cg rw - cgroup2 none rw\n", "/cg/c"},
        {"0::/a/b", "1 2 0:1 /a/b /cg rw - cgroup2 none rw\n", "/cg"},
        {"0::/a/bc", "1 2 0:1 /a/b /cg rw - cgroup2 none rw\n", NULL},
        {"8:pids:/x\n", unified, NULL},
        {"0::/x\n", "1 2 0:1 / /cg rw - cgroup cgroup rw,pids\n", NULL},
        {"0::/x\n", "1 2 0:1 / /with\\040blank rw - cgroup2 none rw\n", NULL},
        {"", "", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char directory[PATH_MAX];
        const bool found = current_cgroup_parse(cases[i].groups, cases[i].mounts, directory);

        assert_int_equal(found, cases[i].directory != NULL);
        if (found)
            assert_string_equal(directory, cases[i].directory);
    }
}

/* Skips the test where there is nothing to be tried. */
static void open_groups(struct control_groups *groups)
{
    control_groups_open(groups);
    if (groups->directory[0] != '\0')
        return;
    print_message("skipped: no control group (version 2) is delegated to this process\n");
    skip();
}

static _Noreturn void live_on(int end)
{
    (void)!write(end, "", 1);
    for (;;)
        pause();
}

/* A process in the group starts another in a session of its own, and ends. */
static void leave_one_open(const char *group, int end)
{
    const pid_t child = fork();
    struct error error;
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        if (control_group_enter(group, &error) != 0)
            _exit(1);
        if (fork() == 0 && setsid() > 0)
            live_on(end);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void group_members_die_with_it(void **state)
{
    struct control_groups groups;
    char group[PATH_MAX], byte;
    struct error error;
    int ends[2];

    (void)state;
    open_groups(&groups);
    assert_int_equal(control_group_make(&groups, 0, group, &error), 0);
    assert_int_equal(pipe(ends), 0);
    leave_one_open(group, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    control_group_end(group);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* it has ended: the other end is closed */
    close(ends[0]);
    control_groups_close(&groups);
    control_groups_close(&groups);
}

static void groups_of_the_killed_are_removed(void **state)
{
    struct control_groups groups;
    char group[PATH_MAX], left[PATH_MAX];
    struct error error;
    pid_t child;
    int status;

    (void)state;
    open_groups(&groups);
    assert_int_equal(control_group_make(&groups, 0, group, &error), 0);
    control_groups_close(&groups);
    assert_int_not_equal(access(group, F_OK), 0);

    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        control_groups_open(&groups);
        _exit(control_group_make(&groups, 0, group, &error) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);

    open_groups(&groups);
    snprintf(left, sizeof left, "%.*s/gaspipe-%d",
             (int)(strrchr(groups.directory, '/') - groups.directory), groups.directory,
             (int)child);
    assert_int_not_equal(access(left, F_OK), 0);
    control_groups_close(&groups);
}

static void without_groups_there_is_nothing_to_do(void **state)
{
    const struct control_groups none = {.lock = -1};
    char group[PATH_MAX];
    struct error error;

    (void)state;
    assert_int_equal(control_group_make(&none, 1, group, &error), 0);
    assert_string_equal(group, "");
    control_group_end(group);
    assert_int_equal(control_group_enter("/there/is/none", &error), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_current_cgroup_is_found),
        cmocka_unit_test(group_members_die_with_it),
        cmocka_unit_test(groups_of_the_killed_are_removed),
        cmocka_unit_test(without_groups_there_is_nothing_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
