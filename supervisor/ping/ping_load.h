/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PING_PING_LOAD_H
#define GASPIPE_SUPERVISOR_PING_PING_LOAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"

enum { PING_LOAD_MAX = 1024 };

/* Threads that compute all the time, and do nothing else: a machine with other work. */
struct ping_load {
    pthread_t threads[PING_LOAD_MAX];
    size_t count;
    atomic_bool stop;
};

/*
 * Starts so many, at most PING_LOAD_MAX, where the calling thread may run. -1 with ERROR_SYSTEM;
 * those that were started are then to be stopped too.
 */
int ping_load_start(struct ping_load *load, size_t count, struct error *error);

void ping_load_stop(struct ping_load *load);

#endif
