/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/pipe/direct_read.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { TICK_NANOSECONDS = 10000000 };

/* A signal's handler can be given nothing, so all of it is static. */
static timer_t timer;
static enum { UNTRIED, READY, UNAVAILABLE } state;
static volatile sig_atomic_t running; /* the timer */
static volatile sig_atomic_t used;    /* since the last tick */
static volatile sig_atomic_t ticked;  /* since direct_read_begin() */
static volatile sig_atomic_t reading = -1;

static void set_timer(long nanoseconds)
{
    const struct itimerspec period = {
        .it_interval.tv_nsec = nanoseconds,
        .it_value.tv_nsec = nanoseconds,
    };

    /* Cannot fail: the timer is there and the time is one. */
    (void)timer_settime(timer, 0, &period, NULL);
}

/*
 * The handler's signal restarts the read that it interrupts, and all else (SA_RESTART), so
 * nothing but a direct read notices it. That one is made not to block any more, which ends
 * it also when the signal came just before read(2) was entered.
 */
static void tick(int number)
{
    int before = errno;

    (void)number;
    ticked = 1;
    if (reading >= 0)
        (void)fcntl(reading, F_SETFL, O_NONBLOCK);
    if (!used) {
        running = 0;
        set_timer(0);
    }
    used = 0;
    errno = before;
}

static bool make_timer(void)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};

    /* glibc 2.36 has no other name for it. */
    event._sigev_un._tid = gettid();
    return sigaction(SIGRTMIN, &action, NULL) == 0 &&
           timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}

bool direct_read_begin(void)
{
    if (state == UNTRIED)
        state = make_timer() ? READY : UNAVAILABLE;
    if (state == UNAVAILABLE)
        return false;
    ticked = 0;
    used = 1;
    if (!running) {
        running = 1;
        set_timer(TICK_NANOSECONDS);
    }
    return true;
}

ssize_t direct_read(int fd, void *bytes, size_t size)
{
    ssize_t got;

    used = 1;
    reading = fd;
    do
        got = read(fd, bytes, size);
    while (got < 0 && errno == EINTR);
    reading = -1;
    /* A tick may have come after the bytes. */
    if (ticked) {
        int before = errno;

        (void)fcntl(fd, F_SETFL, 0);
        errno = before;
    }
    return got;
}

bool direct_read_due(void)
{
    return ticked;
}
