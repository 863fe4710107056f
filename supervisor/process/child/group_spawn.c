/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/child/group_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of a process until it becomes the program; it lies in the stack of the thread that waits for it.
 */
enum { STACK_SIZE = 16 << 10 };

struct beginning {
    const struct group_spawn *spawn;
    int problem; /* an errno; 0: none */
};

/* ---- within the process, which has our memory until it becomes the program ---- */

/* Handlers would run in our memory; what is ignored would stay so. */
static void reset_signals(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};

    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &usual, NULL); /* some cannot be changed */
}

static bool take_fd(const struct group_spawn *spawn, int fd)
{
    int file;

    if (spawn->fds[fd] >= 0)
        return dup2(spawn->fds[fd], fd) == fd;
    if (fd > STDERR_FILENO) {
        (void)close(fd); /* it may be closed already */
        return true;
    }
    file = open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_RDWR);
    if (file < 0 || file == fd)
        return file == fd;
    return dup2(file, fd) == fd && close(file) == 0;
}

static bool take_fds(const struct group_spawn *spawn)
{
    for (int fd = 0; fd < spawn->fd_count; fd++)
        if (!take_fd(spawn, fd))
            return false;
    return close_range((unsigned)spawn->fd_count, ~0U, 0) == 0;
}

/* Neither sanitizer knows that this runs on a stack of its own. */
__attribute__((noreturn, no_sanitize("address", "undefined"))) static void
become_program(struct beginning *beginning)
{
    const struct group_spawn *spawn = beginning->spawn;
    sigset_t none;

    reset_signals();
    if ((spawn->in_our_group || setpgid(0, 0) == 0) &&
        (spawn->folder == NULL || chdir(spawn->folder) == 0) && take_fds(spawn)) {
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL); /* neither can fail with these arguments */
        (void)execve(spawn->path, spawn->arguments, spawn->environment);
    }
    beginning->problem = errno;
    _exit(127);
}

/* ---- the start ---- */

/*
 * The C library has no function that passes these arguments on. The caller waits until the process
 * has become the program or ended. Its ID, or -errno.
 */
static long clone_into(const struct clone_args *arguments, struct beginning *beginning)
{
#ifdef __x86_64__
    long result = SYS_clone3;

    __asm__ volatile(
        "syscall\n\t"
        "test %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "mov %[beginning], %%rdi\n\t"
        "xor %%ebp, %%ebp\n\t" /* no frame is above this one */
        "call *%[become]\n"
        "1:"
        : "+a"(result)
        : "D"(arguments),
          "S"(sizeof *arguments), [become] "b"(become_program), [beginning] "r"(beginning)
        : "rcx", "r11", "cc", "memory");
    return result;
#else
    (void)arguments;
    (void)beginning;
    return -ENOSYS;
#endif
}

bool group_spawn(const struct group_spawn *spawn, const char *group, pid_t *pid, int *problem)
{
    const int folder = open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
    _Alignas(16) char stack[STACK_SIZE];
    const struct clone_args arguments = {
        .flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .stack = (uintptr_t)stack,
        .stack_size = sizeof stack,
        .cgroup = (unsigned)folder,
    };
    struct beginning beginning = {.spawn = spawn};
    sigset_t all, before;
    long result;

    if (folder < 0)
        return false;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    result = clone_into(&arguments, &beginning);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(folder);
    if (result < 0)
        return false;
    *pid = (pid_t)result;
    *problem = beginning.problem;
    if (*problem != 0)
        (void)waitpid(*pid, NULL, 0); /* its end is not what went wrong */
    return true;
}
