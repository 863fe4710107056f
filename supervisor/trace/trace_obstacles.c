/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_obstacles.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"

enum { STATUS_MOST = 1 << 16 };

/* ---- what the system says ---- */

static const char *next_status_line(const char *at)
{
    const char *const end = strchr(at, '\n');

    return end != NULL ? end + 1 : NULL;
}

/* "x86_Thread_features:\tshstk wrss" */
static bool names_shadow_stack(const char *line)
{
    const size_t length = strcspn(line, "\n");

    return strncmp(line, "x86_Thread_features:", 20) == 0 &&
           memmem(line, length, "shstk", 5) != NULL;
}

void trace_obstacles_read_status(struct trace_obstacles *obstacles, const char *status)
{
    for (const char *line = status; line != NULL && *line != '\0'; line = next_status_line(line)) {
        /* NOLINTBEGIN(cert-err34-c): Linux writes numbers there */
        (void)sscanf(line, "Seccomp: %d", &obstacles->seccomp);
        (void)sscanf(line, "TracerPid: %d", &obstacles->tracer);
        (void)sscanf(line, "SigIgn: %" SCNx64, &obstacles->ignored);
        (void)sscanf(line, "Uid: %" SCNd64, &obstacles->user);
        /* NOLINTEND(cert-err34-c) */
        obstacles->shadow_stack |= names_shadow_stack(line);
    }
}

static int read_yama(void)
{
    FILE *const file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    int scope = 0;

    if (file == NULL)
        return 0;
    /* NOLINTNEXTLINE(cert-err34-c): likewise */
    if (fscanf(file, "%d", &scope) != 1)
        scope = 0;
    fclose(file);
    return scope;
}

int trace_obstacles_read(struct trace_obstacles *obstacles, pid_t process, struct error *error)
{
    struct buf status = {0};
    struct error ignored;
    char path[64];

    *obstacles = (struct trace_obstacles){.user = -1, .yama = read_yama()};
    snprintf(path, sizeof path, "/proc/%d/status", process);
    if (io_read_file(path, STATUS_MOST, &status, &ignored) != 0 || buf_string(&status) == NULL) {
        buf_free(&status);
        return error_set(error, ERROR_INPUT, "no process %d", process);
    }
    trace_obstacles_read_status(obstacles, status.data);
    buf_free(&status);
    return 0;
}

/* ---- words ---- */

int trace_obstacles_check(const struct trace_obstacles *obstacles, pid_t process,
                          struct error *error)
{
    if (obstacles->seccomp != 0)
        return error_set(error, ERROR_INPUT,
                         "process %d is confined by seccomp: no agent can be loaded into it "
                         "(workers: gaspipe run --trace-functions)",
                         process);
    /* Linux would set its action to the default when the call of a function ends. */
    if ((obstacles->ignored >> (SIGSEGV - 1) & 1) != 0)
        return error_set(error, ERROR_INPUT,
                         "process %d ignores SIGSEGV, with which gaspipe trace gets control back "
                         "from it",
                         process);
    if (obstacles->shadow_stack)
        return error_set(error, ERROR_INPUT,
                         "process %d has a shadow stack (CET), which lets no function return "
                         "through a trampoline: start it with "
                         "GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK",
                         process);
    return 0;
}

int trace_obstacles_refuse(const struct trace_obstacles *obstacles, pid_t process, int errnum,
                           int64_t own, struct error *error)
{
    if (errnum == ESRCH)
        return error_set(error, ERROR_INPUT, "no process %d", process);
    if (obstacles->tracer != 0)
        return error_set(error, ERROR_INPUT,
                         "process %d cannot be traced: process %d traces it already", process,
                         obstacles->tracer);
    if (obstacles->user >= 0 && obstacles->user != own && own != 0)
        return error_set(error, ERROR_INPUT,
                         "process %d cannot be traced: it belongs to user %" PRId64, process,
                         obstacles->user);
    if (errnum == EPERM && obstacles->yama > 0)
        return error_set(error, ERROR_INPUT,
                         "process %d cannot be traced: kernel.yama.ptrace_scope is %d; "
                         "gaspipe trace can start the program itself%s",
                         process, obstacles->yama,
                         obstacles->yama < 3 ? ", or needs CAP_SYS_PTRACE" : "");
    if (errnum == EPERM)
        return error_set(error, ERROR_INPUT,
                         "process %d cannot be traced: ptrace is not permitted here (a container, "
                         "seccomp, or a process that may not be dumped); gaspipe trace can start "
                         "the program itself",
                         process);
    return error_set(error, ERROR_INPUT, "process %d cannot be traced: %s", process,
                     strerror(errnum));
}
