/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* If gaspipe was started with SIGCHLD ignored, Linux would reap children by itself, and their exit
 * statuses would be lost. */
static void stop_ignoring_sigchld(void)
{
    struct sigaction action;

    /* Neither can fail: the signal is one. */
    (void)sigaction(SIGCHLD, NULL, &action);
    if (action.sa_handler != SIG_IGN)
        return;
    action.sa_handler = SIG_DFL;
    (void)sigaction(SIGCHLD, &action, NULL);
}

/* ---- starting within a control group ---- */

/*
 * To move a process into a control group, Linux waits some ten milliseconds for every CPU (the
 * write lock of threadgroups, cgroup-v2.rst: favordynmods). clone3(2) starts it within the group at
 * once. glibc has no function that passes CLONE_INTO_CGROUP, so this is a vfork(2) made by hand.
 * Hazards, and what is done about each:
 *
 * - The child shares the caller's memory until execve(2): it runs on a stack of its own, in the
 *   caller's frame, which CLONE_VFORK keeps alive; and it calls only what is safe there.
 * - A signal handler would run in the shared memory: all signals are blocked before the start, and
 *   the child resets every handler before it unblocks them.
 * - The child's errors would be lost: it leaves an errno in the shared memory.
 */
enum { CHILD_STACK_SIZE = 16 << 10 };

struct group_start {
    const struct child_launch *launch;
    const int *copies; /* as in spawn_with_copies() */
    int problem;       /* an errno; 0: none */
};

static void reset_signals(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};

    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &usual, NULL); /* some cannot be changed */
}

static bool take_fd(int copy, int fd)
{
    int file;

    if (copy >= 0)
        return dup2(copy, fd) == fd;
    if (fd > STDERR_FILENO) {
        (void)close(fd); /* it may be closed already */
        return true;
    }
    file = open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_RDWR);
    if (file < 0 || file == fd)
        return file == fd;
    return dup2(file, fd) == fd && close(file) == 0;
}

static bool take_child_fds(const struct group_start *start)
{
    for (int fd = 0; fd < start->launch->fd_count; fd++)
        if (!take_fd(start->copies[fd], fd))
            return false;
    return close_range((unsigned)start->launch->fd_count, ~0U, 0) == 0;
}

/* Sanitizers do not know that this runs on a stack of its own, in a process of its own. */
__attribute__((noreturn, no_sanitize("address", "undefined", "thread"))) static void
become_program(struct group_start *start)
{
    const struct child_launch *launch = start->launch;
    sigset_t none;

    reset_signals();
    if ((launch->in_same_group || setpgid(0, 0) == 0) &&
        (launch->directory == NULL || chdir(launch->directory) == 0) && take_child_fds(start)) {
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL); /* neither can fail with these arguments */
        (void)execve(launch->path, launch->arguments, launch->environment);
    }
    start->problem = errno;
    _exit(127);
}

/* Returns when the process has become the program or ended. Its ID, or -errno. `start` has a
 * register of its own: as any register, gcc 14 chooses the stack pointer, which the child's differs
 * from. */
static long clone_into(const struct clone_args *arguments, struct group_start *start)
{
#ifdef __x86_64__
    long result = SYS_clone3;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "mov %[start], %%rdi\n\t"
                     "xor %%ebp, %%ebp\n\t" /* no frame is above this one */
                     "call *%[become]\n"
                     "1:"
                     : "+a"(result)
                     : "D"(arguments),
                       "S"(sizeof *arguments), [become] "b"(become_program), [start] "d"(start)
                     : "rcx", "r11", "cc", "memory");
    return result;
#else
    register long result __asm__("x0") = (long)arguments;
    register size_t size __asm__("x1") = sizeof *arguments;
    register long number __asm__("x8") = SYS_clone3;

    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x0, %[start]\n\t"
                     "mov x29, xzr\n\t"
                     "blr %[become]\n"
                     "1:"
                     : "+r"(result)
                     : "r"(size), "r"(number), [become] "r"(become_program), [start] "r"(start)
                     : "cc", "memory");
    return result;
#endif
}

/*
 * False: nothing was started, because Linux cannot do it, or not into that group. Else *problem is
 * 0, or the errno with which the process could not become the program; then it is already reaped.
 */
static bool spawn_in_group(pid_t *pid, const struct child_launch *launch, const int *copies,
                           int *problem)
{
    const int directory = open(launch->control_group, O_PATH | O_DIRECTORY | O_CLOEXEC);
    _Alignas(16) char stack[CHILD_STACK_SIZE];
    const struct clone_args arguments = {
        .flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .stack = (uintptr_t)stack,
        .stack_size = sizeof stack,
        .cgroup = (unsigned)directory,
    };
    struct group_start start = {.launch = launch, .copies = copies};
    sigset_t all, before;
    long result;

    if (directory < 0)
        return false;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    result = clone_into(&arguments, &start);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(directory);
    if (result < 0)
        return false;
    *pid = (pid_t)result;
    *problem = start.problem;
    if (*problem != 0)
        (void)waitpid(*pid, NULL, 0); /* `problem` says what went wrong */
    return true;
}

/* ---- starting ---- */

/* A function that can fail returns 0 or an errno, as posix_spawn() does. */

static int set_attributes(posix_spawnattr_t *attributes, bool in_same_group)
{
    const short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    sigset_t all, none;
    int result;

    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    result = posix_spawnattr_setflags(
        attributes, in_same_group ? flags : (short)(flags | POSIX_SPAWN_SETPGROUP));
    if (result == 0)
        result = posix_spawnattr_setpgroup(attributes, 0);
    if (result == 0)
        result = posix_spawnattr_setsigdefault(attributes, &all);
    return result != 0 ? result : posix_spawnattr_setsigmask(attributes, &none);
}

/* The copies lie above all of its descriptors, so that none is overwritten before its turn. */
static int set_spawn_actions(posix_spawn_file_actions_t *actions, const struct child_launch *launch,
                             const int *copies)
{
    int result = 0;

    if (launch->directory != NULL)
        result = posix_spawn_file_actions_addchdir_np(actions, launch->directory);
    for (int fd = 0; fd < launch->fd_count && result == 0; fd++) {
        if (copies[fd] >= 0)
            result = posix_spawn_file_actions_adddup2(actions, copies[fd], fd);
        else if (fd <= STDERR_FILENO)
            result = posix_spawn_file_actions_addopen(actions, fd, "/dev/null",
                                                      fd == STDIN_FILENO ? O_RDONLY : O_RDWR, 0);
        else /* no error where it is closed already (glibc) */
            result = posix_spawn_file_actions_addclose(actions, fd);
    }
    /* The program that started gaspipe may have left others open. */
    return result != 0 ? result
                       : posix_spawn_file_actions_addclosefrom_np(actions, launch->fd_count);
}

static int spawn_as_configured(pid_t *pid, const struct child_launch *launch, const int *copies)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int result;

    result = posix_spawn_file_actions_init(&actions);
    if (result != 0)
        return result;
    result = posix_spawnattr_init(&attributes);
    if (result == 0) {
        result = set_attributes(&attributes, launch->in_same_group);
        if (result == 0)
            result = set_spawn_actions(&actions, launch, copies);
        if (result == 0)
            result = posix_spawn(pid, launch->path, &actions, &attributes, launch->arguments,
                                 launch->environment);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return result;
}

static int spawn_from_copies(pid_t *pid, const struct child_launch *launch, const int *copies)
{
    const char *group = launch->control_group;
    int problem = 0;

    if (group != NULL && group[0] != '\0' && spawn_in_group(pid, launch, copies, &problem))
        return problem;
    return spawn_as_configured(pid, launch, copies);
}

static int spawn_with_copies(pid_t *pid, const struct child_launch *launch)
{
    int copies[launch->fd_count];
    int result = 0;

    memset(copies, -1, sizeof copies);
    for (int i = 0; i < launch->fd_count && result == 0; i++) {
        if (launch->fds[i] >= 0)
            copies[i] = fcntl(launch->fds[i], F_DUPFD_CLOEXEC, launch->fd_count);
        if (launch->fds[i] >= 0 && copies[i] < 0)
            result = errno;
    }
    if (result == 0)
        result = spawn_from_copies(pid, launch, copies);
    for (int i = 0; i < launch->fd_count; i++)
        if (copies[i] >= 0)
            close(copies[i]);
    return result;
}

/*
 * With its memory laid out at fixed addresses. The setting is inherited, so it is set here around
 * the start; where it is not allowed (some containers) QEMU's own layout is fixed all the same.
 */
static int spawn_fixed_layout(pid_t *pid, const struct child_launch *launch)
{
    const int before = personality(0xffffffff);
    int result;

    if (before >= 0)
        (void)personality((unsigned long)before | ADDR_NO_RANDOMIZE);
    result = spawn_with_copies(pid, launch);
    if (before >= 0)
        (void)personality((unsigned long)before);
    return result;
}

int child_process_spawn(const struct child_launch *launch, pid_t *pid, struct error *error)
{
    int result;

    stop_ignoring_sigchld();
    result =
        launch->fixed_layout ? spawn_fixed_layout(pid, launch) : spawn_with_copies(pid, launch);
    if (result == 0)
        return 0;
    if (launch->directory != NULL && strcmp(launch->directory, "/") != 0)
        return error_system(error, result, "cannot start %s in %s", launch->path,
                            launch->directory);
    return error_system(error, result, "cannot start %s", launch->path);
}

int child_process_reap(pid_t pid, int *status, struct error *error)
{
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            return error_system(error, errno, "cannot wait for a process");
    return 0;
}

/* ---- the end ---- */

static void end_readable(uv_poll_t *poll, int status, int events)
{
    struct child_process *child = (struct child_process *)poll;
    siginfo_t info = {0};

    (void)status;
    (void)events;
    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0)
        return;
    (void)uv_poll_stop(poll);
    child->ended(child, info.si_code == CLD_EXITED ? info.si_status : 0,
                 info.si_code == CLD_EXITED ? 0 : info.si_status);
}

static int watch_child(struct child_process *child, uv_loop_t *loop)
{
    int result;

    child->pidfd = pidfd_open(child->pid, 0);
    if (child->pidfd < 0)
        return uv_translate_sys_error(errno);
    result = uv_poll_init(loop, &child->end, child->pidfd);
    if (result != 0)
        child_process_free(child);
    else
        (void)uv_poll_start(&child->end, UV_READABLE, end_readable); /* cannot fail: it is open */
    return result;
}

int child_process_start(struct child_process *child, uv_loop_t *loop,
                        const struct child_launch *launch,
                        void (*ended)(struct child_process *child, int exit_status,
                                      int signal_number),
                        struct error *error)
{
    pid_t pid;

    return child_process_spawn(launch, &pid, error) == 0
               ? child_process_adopt(child, loop, pid, ended, error)
               : -1;
}

int child_process_adopt(struct child_process *child, uv_loop_t *loop, pid_t pid,
                        void (*ended)(struct child_process *child, int exit_status,
                                      int signal_number),
                        struct error *error)
{
    int result;

    _Static_assert(offsetof(struct child_process, end) == 0, "end_readable() relies on it");
    child->ended = ended;
    child->pid = pid;
    result = watch_child(child, loop);
    if (result == 0)
        return 0;
    (void)kill(-child->pid, SIGKILL);
    (void)waitpid(child->pid, NULL, 0);
    return error_set(error, ERROR_SYSTEM, "cannot watch a process: %s", uv_strerror(result));
}

void child_process_free(struct child_process *child)
{
    close(child->pidfd);
    child->pidfd = -1;
}
