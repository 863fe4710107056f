/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_child.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/process/agent_environment.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/locate.h"

enum { RING_FD = 3 };

/* ---- whether the agent can be preloaded ---- */

static bool has_interpreter(int fd, const Elf64_Ehdr *head)
{
    Elf64_Phdr segment;

    for (int i = 0; i < head->e_phnum; i++)
        if (pread(fd, &segment, sizeof segment,
                  (off_t)(head->e_phoff + (uint64_t)i * head->e_phentsize)) == sizeof segment &&
            segment.p_type == PT_INTERP)
            return true;
    return false;
}

int trace_child_check(const char *program, struct error *error)
{
    const int fd = open(program, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr head = {0};
    struct stat status;
    int result = 0;

    if (fd < 0 || fstat(fd, &status) != 0 || pread(fd, &head, sizeof head, 0) < 0)
        result = error_set(error, ERROR_INPUT, "%s: %m", program);
    else if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_machine != EM_X86_64)
        result = error_set(error, ERROR_INPUT,
                           "%s is not a program for x86-64; of a script, trace the interpreter",
                           program);
    else if (!has_interpreter(fd, &head))
        result = error_set(error, ERROR_INPUT,
                           "%s is linked statically: no agent can be preloaded into it", program);
    else if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
        result =
            error_set(error, ERROR_INPUT,
                      "%s changes its user or group: no agent can be preloaded into it", program);
    if (fd >= 0)
        close(fd);
    return result;
}

/* ---- the start ---- */

int trace_child_start(struct trace_child *child, const char *program, char *const *arguments,
                      int ring_fd, struct error *error)
{
    const int fds[] = {0, 1, 2, ring_fd};
    char agent[PATH_MAX];
    struct child_launch launch = {
        .path = program,
        .arguments = arguments,
        .fds = fds,
        .fd_count = sizeof fds / sizeof *fds,
        .in_our_group = true,
    };
    char **environment;
    int result;

    if (trace_child_check(program, error) != 0 || locate("libgastrace.so", agent, error) != 0)
        return -1;
    environment = agent_environment(agent, RING_FD, environ);
    if (environment == NULL)
        return error_memory(error, "a program's environment");
    launch.environment = environment;
    result = child_process_spawn(&launch, &child->pid, error);
    free(environment);
    if (result != 0)
        return -1;
    child->pidfd = pidfd_open(child->pid, 0);
    return child->pidfd >= 0 ? 0 : error_system(error, errno, "cannot watch %s", program);
}

int trace_child_wait(struct trace_child *child, int milliseconds, int *status, struct error *error)
{
    struct pollfd end = {.fd = child->pidfd, .events = POLLIN};
    int result;

    if (poll(&end, 1, milliseconds) <= 0)
        return 0;
    if (child_process_reap(child->pid, &result, error) != 0)
        return -1;
    close(child->pidfd);
    *status = WIFSIGNALED(result) ? 128 + WTERMSIG(result) : WEXITSTATUS(result);
    return 1;
}
