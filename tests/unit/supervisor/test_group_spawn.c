/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/control_group.h"
#include "supervisor/process/child/group_spawn.h"

/* A group, and the pipe that the process prints into. */
struct fixture {
    struct control_groups groups;
    char group[PATH_MAX];
    int output[2];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct error error;

    *state = &fixture;
    control_groups_open(&fixture.groups);
    if (control_group_make(&fixture.groups, 0, fixture.group, &error) != 0)
        return -1;
    return pipe2(fixture.output, O_CLOEXEC);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    close(fixture->output[0]);
    close(fixture->output[1]);
    control_group_end(fixture->group);
    control_groups_close(&fixture->groups);
    return 0;
}

/* Skips the test where nothing can be started so. */
static int start(const struct fixture *fixture, const char *path, const char *script,
                 const char *folder, pid_t *pid)
{
    char *const arguments[] = {"sh", "-c", (char *)script, NULL};
    char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    int fds[] = {-1, -1, -1};
    const struct group_spawn spawn = {
        .path = path,
        .arguments = arguments,
        .environment = environment,
        .fds = fds,
        .fd_count = 3,
        .folder = folder,
    };
    int problem = 0;
    bool started;

    if (fixture->group[0] == '\0') {
        print_message("skipped: no control group (version 2) is delegated to this process\n");
        skip();
    }
    fds[STDOUT_FILENO] = fcntl(fixture->output[1], F_DUPFD_CLOEXEC, 3);
    started = group_spawn(&spawn, fixture->group, pid, &problem);
    close(fds[STDOUT_FILENO]);
    if (!started) {
        print_message("skipped: this kernel starts no process within a control group\n");
        skip();
    }
    return problem;
}

/* What it prints first, and its exit status. */
static int run(const struct fixture *fixture, const char *script, char *text, size_t size)
{
    pid_t pid;
    int status;
    ssize_t length;

    assert_int_equal(start(fixture, "/bin/sh", script, "/", &pid), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    length = read(fixture->output[0], text, size - 1);
    assert_true(length > 0);
    text[length] = '\0';
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void it_starts_within_the_group(void **state)
{
    const struct fixture *fixture = *state;
    char text[PATH_MAX];

    assert_int_equal(run(fixture, "cat /proc/self/cgroup; exit 7", text, sizeof text), 7);
    assert_non_null(strstr(text, strrchr(fixture->group, '/')));
}

static void it_has_its_descriptors_folder_and_process_group(void **state)
{
    char text[PATH_MAX];

    assert_int_equal(run(*state,
                         "pwd; readlink /proc/$$/fd/0; readlink /proc/$$/fd/2; ls /proc/$$/fd; "
                         "cut -d ' ' -f 5 /proc/$$/stat | grep -cx $$",
                         text, sizeof text),
                     0);
    assert_string_equal(text, "/\n/dev/null\n/dev/null\n0\n1\n2\n1\n");
}

/* The set in /proc/PID/status behind this name. */
static uint64_t signals_after(const char *text, const char *name)
{
    const char *found = strstr(text, name);

    assert_non_null(found);
    return strtoull(found + strlen(name), NULL, 16);
}

static void it_has_no_signal_blocked_or_ignored(void **state)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    const uint64_t libc_signals = 3ULL << 31; /* 32 and 33, which it lets nobody change */
    sigset_t one, before;
    struct sigaction usual;
    char text[256];

    assert_int_equal(sigaction(SIGUSR2, &ignore, &usual), 0);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGUSR1);
    assert_int_equal(sigprocmask(SIG_BLOCK, &one, &before), 0);
    run(*state, "grep -E '^Sig(Blk|Ign)' /proc/self/status", text, sizeof text);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(sigaction(SIGUSR2, &usual, NULL), 0);
    assert_true(signals_after(text, "SigBlk:") == 0);
    assert_true((signals_after(text, "SigIgn:") & ~libc_signals) == 0);
}

static void what_cannot_be_started_is_told_and_reaped(void **state)
{
    pid_t pid = 0;

    assert_int_equal(start(*state, "/nowhere/sh", "", "/", &pid), ENOENT);
    assert_int_equal(start(*state, "/bin/sh", "", "/nowhere", &pid), ENOENT);
    assert_int_equal(waitpid(pid, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
}

static void where_there_is_no_such_group_nothing_is_started(void **state)
{
    const struct group_spawn spawn = {.path = "/bin/true"};
    pid_t pid;
    int problem;

    (void)state;
    assert_false(group_spawn(&spawn, "/nowhere", &pid, &problem));
    assert_false(group_spawn(&spawn, "/tmp", &pid, &problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_starts_within_the_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_has_its_descriptors_folder_and_process_group, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(it_has_no_signal_blocked_or_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_started_is_told_and_reaped, set_up,
                                        tear_down),
        cmocka_unit_test(where_there_is_no_such_group_nothing_is_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
