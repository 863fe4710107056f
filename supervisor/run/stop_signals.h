/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_STOP_SIGNALS_H
#define GASPIPE_SUPERVISOR_RUN_STOP_SIGNALS_H

#include <stdbool.h>
#include <uv.h>

#include "base/error.h"

/* SIGINT, SIGTERM and SIGHUP, which end a run in its event loop. If the loop is blocked, by a full
 * pipe or a locked store, calls that wait fail with EINTR after half a second (io_abandon_waits()),
 * and keep failing. A process has one, since a signal's handler gets no context. */
struct stop_signals {
    uv_poll_t poll;
    int fd; /* of an event; valid while it is open */
    bool open;
    void (*came)(struct stop_signals *signals, int number);
    void *context; /* the caller's */
};

/* Calls `came` from the loop for the first of the signals. -1 with ERROR_SYSTEM. */
int stop_signals_open(struct stop_signals *signals, uv_loop_t *loop, struct error *error);

/* The first that came, also before the loop has noticed; 0: none. */
int stop_signals_number(void);

/* Calls `came` no longer; calls that wait still fail. Does nothing if it is not open. */
void stop_signals_close(struct stop_signals *signals);

#endif
