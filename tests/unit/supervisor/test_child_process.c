/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/control_group.h"
#include "supervisor/process/child_process.h"

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

/* Returns true if Linux starts processes within this group. */
static bool is_supported(const char *group)
{
    const int directory = open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct clone_args arguments = {
        .flags = CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = (unsigned)directory,
    };
    const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);

    if (pid == 0)
        _exit(0);
    close(directory);
    return pid > 0 && waitpid((pid_t)pid, NULL, 0) == pid;
}

static int start(const struct fixture *fixture, const char *path, const char *script,
                 const char *directory, pid_t *pid, struct error *error)
{
    char *const arguments[] = {"sh", "-c", (char *)script, NULL};
    char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    const int fds[] = {-1, fixture->output[1], -1};
    const struct child_launch launch = {
        .path = path,
        .arguments = arguments,
        .environment = environment,
        .fds = fds,
        .fd_count = 3,
        .directory = directory,
        .control_group = fixture->group,
    };

    return child_process_spawn(&launch, pid, error);
}

static void skip_without_groups(const struct fixture *fixture)
{
    if (fixture->group[0] != '\0' && is_supported(fixture->group))
        return;
    print_message("skipped: this process cannot start others within a control group\n");
    skip();
}

/* Stores its first output, and returns its exit status. */
static int run(const struct fixture *fixture, const char *script, char *text, size_t size)
{
    struct error error;
    pid_t pid;
    int status;
    ssize_t length;

    skip_without_groups(fixture);
    assert_int_equal(start(fixture, "/bin/sh", script, "/", &pid, &error), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    length = read(fixture->output[0], text, size - 1);
    assert_true(length > 0);
    text[length] = '\0';
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void child_starts_within_the_group(void **state)
{
    const struct fixture *fixture = *state;
    char text[PATH_MAX];

    assert_int_equal(run(fixture, "cat /proc/self/cgroup; exit 7", text, sizeof text), 7);
    assert_non_null(strstr(text, strrchr(fixture->group, '/')));
}

static void child_has_its_descriptors_directory_and_process_group(void **state)
{
    char text[PATH_MAX];

    assert_int_equal(run(*state,
                         "pwd; readlink /proc/$$/fd/0; readlink /proc/$$/fd/2; ls /proc/$$/fd; "
                         "cut -d ' ' -f 5 /proc/$$/stat | grep -cx $$",
                         text, sizeof text),
                     0);
    assert_string_equal(text, "/\n/dev/null\n/dev/null\n0\n1\n2\n1\n");
}

/* The set after this name in /proc/PID/status. */
static uint64_t signals_after(const char *text, const char *name)
{
    const char *found = strstr(text, name);

    assert_non_null(found);
    return strtoull(found + strlen(name), NULL, 16);
}

static void child_has_no_signal_blocked_or_ignored(void **state)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    const uint64_t libc_signals = 3ULL << 31; /* 32 and 33, which it reserves */
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

static void failed_start_is_reported_and_reaped(void **state)
{
    struct error error;
    pid_t pid = 0;

    skip_without_groups(*state);
    assert_int_equal(start(*state, "/nowhere/sh", "", "/", &pid, &error), -1);
    assert_string_equal(error.text, "cannot start /nowhere/sh: No such file or directory");
    assert_int_equal(start(*state, "/bin/sh", "", "/nowhere", &pid, &error), -1);
    assert_string_equal(error.text, "cannot start /bin/sh in /nowhere: No such file or directory");
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
}

/* Then it starts in the caller's group. */
static void missing_group_is_ignored(void **state)
{
    static const char *const groups[] = {"/nowhere", "/tmp"};
    struct fixture fixture = *(struct fixture *)*state;
    struct error error;
    int status;
    pid_t pid;

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        snprintf(fixture.group, sizeof fixture.group, "%s", groups[i]);
        assert_int_equal(start(&fixture, "/bin/sh", "exit 7", "/", &pid, &error), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WEXITSTATUS(status), 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(child_starts_within_the_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(child_has_its_descriptors_directory_and_process_group,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(child_has_no_signal_blocked_or_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_start_is_reported_and_reaped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_group_is_ignored, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
