/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_FOLLOW_H
#define GASPIPE_TOOLS_INPUT_FOLLOW_H

#include <signal.h>

#include "base/error.h"

/*
 * Waits for a file to grow (inotify(7)). While it is open SIGINT and SIGTERM end
 * the waiting and nothing else, so that what was begun can be finished; one that another
 * process sent has no effect behind it either.
 */
struct follow {
    int watch, signals; /* descriptors */
    sigset_t before;    /* the signals that are blocked behind it */
};

/*
 * To be called before the file's end is met, so that nothing written in between
 * is missed. -1 with ERROR_SYSTEM, and then there is nothing to end.
 */
int follow_begin(struct follow *follow, const char *path, struct error *error);

/*
 * 1: there may be more to read; 0: the file at `path` was moved or removed, or a
 * signal came; -1: ERROR_SYSTEM.
 */
int follow_wait(struct follow *follow, const char *path, struct error *error);

void follow_end(struct follow *follow);

#endif
