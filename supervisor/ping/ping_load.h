/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PING_LOAD_H
#define GASPIPE_SUPERVISOR_PING_LOAD_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

enum { PING_LOAD_MAX = 1024 };

/* Processes that compute all the time, and do nothing else: a machine with other work. */
struct ping_load {
    pid_t processes[PING_LOAD_MAX];
    size_t count;
};

/*
 * Starts so many, at most PING_LOAD_MAX, where the calling thread may run. They end with it, also
 * when it is killed. -1 with ERROR_SYSTEM; those that were started are then to be stopped too.
 */
int ping_load_start(struct ping_load *load, size_t count, struct error *error);

void ping_load_stop(struct ping_load *load);

#endif
