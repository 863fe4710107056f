/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/log/cpu_wait.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stamp.h"

/* A sample serves deliveries that begin within this time, and judges those that take longer. */
enum { SLOW = 1000 * 1000 };

static bool cpu_wait_sample(struct cpu_wait *wait)
{
    char text[64], *second, *end;
    ssize_t got;

    if (wait->fd == 0) {
        const int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

        wait->fd = fd < 0 ? -1 : fd + 1;
    }
    if (wait->fd < 0)
        return false;
    got = pread(wait->fd - 1, text, sizeof text - 1, 0);
    if (got <= 0)
        return false;
    text[got] = '\0';
    wait->at = stamp_now().mono;
    second = strchr(text, ' ');
    wait->waited = second != NULL ? strtoll(second, &end, 10) : 0;
    return second != NULL && *end == ' ';
}

/* Results that were computed early are logged later, when the samples say nothing about them. */
void cpu_wait_begin(struct cpu_wait *wait, int64_t sent)
{
    wait->begun = sent >= wait->at && sent - wait->at < SLOW;
    if (!wait->begun && sent > wait->at)
        wait->begun = cpu_wait_sample(wait) && wait->at - sent < SLOW;
}

int64_t cpu_wait_end(struct cpu_wait *wait, int64_t sent, int64_t returned)
{
    const int64_t before = wait->waited;
    int64_t waited;

    if (!wait->begun || returned - sent < SLOW || !cpu_wait_sample(wait))
        return -1;
    waited = wait->waited - before;
    return waited < returned - sent ? waited : returned - sent;
}

void cpu_wait_close(struct cpu_wait *wait)
{
    if (wait->fd > 0)
        close(wait->fd - 1);
    *wait = (struct cpu_wait){0};
}
