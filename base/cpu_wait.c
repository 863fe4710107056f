/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu_wait.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stamp.h"

static void open_schedstat(struct cpu_wait *wait, pid_t process)
{
    char path[64] = "/proc/thread-self/schedstat";

    if (process > 0)
        snprintf(path, sizeof path, "/proc/%ld/schedstat", (long)process);
    wait->fd = open(path, O_RDONLY | O_CLOEXEC);
    wait->state = wait->fd >= 0 ? CPU_WAIT_OPEN : CPU_WAIT_ABSENT;
}

/* The file has three numbers: ran, waited, and how often. -1 if it cannot be read. */
static int64_t cpu_wait_sample(struct cpu_wait *wait)
{
    char text[96], *second, *end;
    int64_t waited;
    ssize_t got;

    if (wait->state != CPU_WAIT_OPEN)
        return -1;
    got = pread(wait->fd, text, sizeof text - 1, 0);
    if (got <= 0)
        return -1;
    text[got] = '\0';
    second = strchr(text, ' ');
    if (second == NULL)
        return -1;
    waited = strtoll(second, &end, 10);
    if (end == second || *end != ' ' || waited < 0)
        return -1;
    wait->at = stamp_now().mono;
    wait->waited = waited;
    return waited;
}

int64_t cpu_wait_begin(struct cpu_wait *wait, pid_t process)
{
    if (wait->state == CPU_WAIT_UNTRIED)
        open_schedstat(wait, process);
    else if (wait->state == CPU_WAIT_OPEN && stamp_now().mono - wait->at < CPU_WAIT_SLOW)
        return wait->waited;
    return cpu_wait_sample(wait);
}

int64_t cpu_wait_end(struct cpu_wait *wait, int64_t before, int64_t began, int64_t ended)
{
    const int64_t took = ended - began;
    int64_t waited;

    if (before < 0 || took < CPU_WAIT_SLOW)
        return -1;
    waited = cpu_wait_sample(wait);
    if (waited < before)
        return -1;
    return waited - before < took ? waited - before : took;
}

void cpu_wait_close(struct cpu_wait *wait)
{
    if (wait->state == CPU_WAIT_OPEN)
        close(wait->fd);
    *wait = (struct cpu_wait){0};
}
