/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/stop_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

enum { TICK_NANOSECONDS = 100000000, TIMEOUT_TICKS = 5, SIGNALS = 3 };

static const int stop_numbers[SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

static int event = -1;
static timer_t timer;
static volatile sig_atomic_t first;
static volatile sig_atomic_t ticks;

static int tick_number(void)
{
    return SIGRTMIN + 1; /* worker_frames.c has SIGRTMIN */
}

static void on_stop(int number)
{
    const struct itimerspec period = {
        .it_interval.tv_nsec = TICK_NANOSECONDS,
        .it_value.tv_nsec = TICK_NANOSECONDS,
    };
    const uint64_t one = 1;
    const int before = errno;

    if (first == 0) {
        first = number;
        /* The event may be closed; the timer is there. */
        (void)!write(event, &one, sizeof one);
        (void)timer_settime(timer, 0, &period, NULL);
    }
    errno = before;
}

/* Each ends a call that waits; a single signal would be lost just before such a call. */
static void on_tick(int number)
{
    (void)number;
    if (ticks < TIMEOUT_TICKS && ++ticks == TIMEOUT_TICKS)
        io_abandon_waits();
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct stop_signals *signals = poll->data;

    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    signals->came(signals, first);
}

/* For the thread of the loop, since it is this one that is to be interrupted. */
static bool make_signal_timer(void)
{
    const struct sigaction action = {.sa_handler = on_tick};
    struct sigevent tick = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = tick_number()};

    /* glibc 2.36 has no other name for it. */
    tick._sigev_un._tid = gettid();
    return sigaction(tick_number(), &action, NULL) == 0 &&
           timer_create(CLOCK_MONOTONIC, &tick, &timer) == 0;
}

static int watch_signal(struct stop_signals *signals, uv_loop_t *loop)
{
    int result = uv_poll_init(loop, &signals->poll, signals->fd);

    if (result != 0)
        return result;
    signals->poll.data = signals;
    signals->open = true;
    return uv_poll_start(&signals->poll, UV_READABLE, on_event);
}

static int catch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};

    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(stop_numbers[i], &action, NULL) != 0)
            return uv_translate_sys_error(errno);
    return 0;
}

int stop_signals_open(struct stop_signals *signals, uv_loop_t *loop, struct error *error)
{
    int result;

    event = signals->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0 || !make_signal_timer())
        return error_system(error, errno, "cannot wait for signals");
    result = watch_signal(signals, loop);
    if (result == 0)
        result = catch_signals();
    return result == 0
               ? 0
               : error_set(error, ERROR_SYSTEM, "cannot wait for signals: %s", uv_strerror(result));
}

int stop_signals_number(void)
{
    return first;
}

void stop_signals_close(struct stop_signals *signals)
{
    if (!signals->open)
        return;
    signals->open = false;
    event = -1;
    uv_close((uv_handle_t *)&signals->poll, NULL);
    (void)close(signals->fd); /* of an event */
}
