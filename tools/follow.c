/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/follow.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <unistd.h>

int follow_open(const char *path, struct error *error)
{
    int descriptor = inotify_init1(IN_CLOEXEC);

    if (descriptor < 0)
        return error_system(error, errno, "%s: cannot follow", path);
    if (inotify_add_watch(descriptor, path, IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF) <
        0) {
        error_system(error, errno, "%s: cannot follow", path);
        close(descriptor);
        return -1;
    }
    return descriptor;
}

/* A file that we hold open is not deleted when it is removed: that its name went
 * shows as a change of its attributes. */
static bool is_gone(const struct inotify_event *event, const char *path)
{
    if ((event->mask & (IN_MOVE_SELF | IN_DELETE_SELF | IN_IGNORED)) != 0)
        return true;
    return (event->mask & IN_ATTRIB) != 0 && access(path, F_OK) != 0;
}

int follow_wait(int descriptor, const char *path, struct error *error)
{
    /* A watched file's events have no name behind them. */
    struct inotify_event events[64];
    ssize_t got;

    do
        got = read(descriptor, events, sizeof events);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return error_system(error, errno, "cannot wait for the slogfile to grow");
    for (size_t i = 0; i < (size_t)got / sizeof events[0]; i++) {
        if (is_gone(&events[i], path))
            return 0;
    }
    return 1;
}
