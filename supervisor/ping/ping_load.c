/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ping/ping_load.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void __attribute__((noreturn)) compute(pid_t parent)
{
    /* A parent that has ended before this was said sends nothing any more. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(0);
    for (;;)
        __asm__ volatile(""); /* a loop without an effect need not be there */
}

int ping_load_start(struct ping_load *load, size_t count, struct error *error)
{
    pid_t parent = getpid();

    load->count = 0;
    while (load->count < count) {
        pid_t child = fork();

        if (child < 0)
            return error_system(error, errno, "cannot start a process for the load");
        if (child == 0)
            compute(parent);
        load->processes[load->count++] = child;
    }
    return 0;
}

void ping_load_stop(struct ping_load *load)
{
    /* They are ours and not reaped yet. */
    for (size_t i = 0; i < load->count; i++)
        (void)kill(load->processes[i], SIGKILL);
    for (size_t i = 0; i < load->count; i++)
        while (waitpid(load->processes[i], NULL, 0) < 0 && errno == EINTR)
            ;
    load->count = 0;
}
