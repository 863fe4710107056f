/* SPDX-License-Identifier: Apache-2.0 */
#include "base/service.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/stamp.h"

/* Fills in the address of $NOTIFY_SOCKET and returns its length; 0 if it is unset or no address. */
static socklen_t notify_address(struct sockaddr_un *address)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path == NULL ? 0 : strlen(path);

    if (length < 2 || length >= sizeof address->sun_path || (path[0] != '/' && path[0] != '@'))
        return 0;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, path, length);
    /* An abstract socket, whose name begins with '\0'. */
    if (path[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

static void notify(const char *state)
{
    struct sockaddr_un address;
    const socklen_t length = notify_address(&address);
    int fd;

    if (length == 0)
        return;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    /* systemd restarts a service that stays silent. */
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
                 (const struct sockaddr *)&address, length);
    close(fd);
}

void service_ready(void)
{
    notify("READY=1");
}

/* $WATCHDOG_PID is the process that is watched; the others inherit the variables. */
static int read_watchdog(void)
{
    const char *process = getenv("WATCHDOG_PID"), *time = getenv("WATCHDOG_USEC");
    const unsigned long long us = time == NULL ? 0 : strtoull(time, NULL, 10);

    if (process != NULL && strtol(process, NULL, 10) != (long)getpid())
        return 0;
    return us / 3000 > INT_MAX ? INT_MAX : (int)(us / 3000);
}

int service_watchdog_ms(void)
{
    static int period = -1;

    if (period < 0)
        period = read_watchdog();
    return period;
}

void service_alive(void)
{
    static int64_t next; /* nanoseconds of CLOCK_MONOTONIC */
    const int period = service_watchdog_ms();
    int64_t now;

    if (period == 0)
        return;
    now = stamp_now().mono;
    if (now < next)
        return;
    next = now + period * INT64_C(1000000);
    notify("WATCHDOG=1");
}
