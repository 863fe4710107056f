/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input/follow.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int cannot_follow(const char *path, struct error *error)
{
    return error_system(error, errno, "%s: cannot follow", path);
}

static int watch_file(int watch, const char *path, struct error *error)
{
    const uint32_t events = IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;

    return inotify_add_watch(watch, path, events) < 0 ? cannot_follow(path, error) : 0;
}

static int block_signals(struct follow *follow, const char *path, struct error *error)
{
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    follow->signals = signalfd(-1, &ends, SFD_CLOEXEC);
    if (follow->signals < 0)
        return cannot_follow(path, error);
    pthread_sigmask(SIG_BLOCK, &ends, &follow->before);
    return 0;
}

int follow_begin(struct follow *follow, const char *path, struct error *error)
{
    follow->watch = inotify_init1(IN_CLOEXEC);
    if (follow->watch < 0)
        return cannot_follow(path, error);
    if (watch_file(follow->watch, path, error) == 0 && block_signals(follow, path, error) == 0)
        return 0;
    close(follow->watch);
    return -1;
}

void follow_end(struct follow *follow)
{
    close(follow->watch);
    close(follow->signals);
    pthread_sigmask(SIG_SETMASK, &follow->before, NULL);
}

/* A file that we hold open is not deleted when it is removed: that its name went
 * shows as a change of its attributes. */
static bool is_gone(const struct inotify_event *event, const char *path)
{
    if ((event->mask & (IN_MOVE_SELF | IN_DELETE_SELF | IN_IGNORED)) != 0)
        return true;
    return (event->mask & IN_ATTRIB) != 0 && access(path, F_OK) != 0;
}

/* 1 when the file did something, 0 when a signal came. */
static int wait_for_either(const struct follow *follow)
{
    struct pollfd ready[] = {{.fd = follow->watch, .events = POLLIN},
                             {.fd = follow->signals, .events = POLLIN}};
    int count;

    do
        count = poll(ready, sizeof ready / sizeof ready[0], -1);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return -1;
    return (ready[1].revents & POLLIN) == 0;
}

/*
 * Takes the signal, which would else end the program once it is let through. One that a
 * process sent stays blocked for good: timeout(1) sends it to its child and to the group
 * that this is in, and the second must not end what the first lets finish. A key sends it
 * once, and again when the user means that.
 */
static int take_signal(struct follow *follow)
{
    struct signalfd_siginfo taken;

    if (read(follow->signals, &taken, sizeof taken) != (ssize_t)sizeof taken)
        return -1;
    if (taken.ssi_code == SI_USER)
        sigaddset(&follow->before, (int)taken.ssi_signo);
    return 0;
}

static int take_events(const struct follow *follow, const char *path)
{
    /* A watched file's events have no name behind them. */
    struct inotify_event events[64];
    ssize_t got = read(follow->watch, events, sizeof events);

    if (got <= 0)
        return -1;
    for (size_t i = 0; i < (size_t)got / sizeof events[0]; i++) {
        if (is_gone(&events[i], path))
            return 0;
    }
    return 1;
}

int follow_wait(struct follow *follow, const char *path, struct error *error)
{
    int result = wait_for_either(follow);

    if (result == 0)
        result = take_signal(follow);
    else if (result > 0)
        result = take_events(follow, path);
    if (result < 0)
        return error_system(error, errno, "cannot wait for the slogfile to grow");
    return result;
}
