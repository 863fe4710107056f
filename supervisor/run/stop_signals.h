/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_STOP_SIGNALS_H
#define GASPIPE_SUPERVISOR_RUN_STOP_SIGNALS_H

#include <stdbool.h>
#include <uv.h>

#include "base/error.h"

/*
 * SIGINT, SIGTERM and SIGHUP, which end a run in its event loop. Should the loop not come to
 * that, because a pipe to somebody who does not read is full or another program has the store
 * locked, then after half a second calls that wait fail with EINTR (io_abandon_waits()), and go
 * on failing: so the signal is heard in any case.
 *
 * There is one at a time, since a signal's handler can be given nothing.
 */
struct stop_signals {
    uv_poll_t poll;
    int fd; /* of an event; valid while it is open */
    bool open;
    void (*came)(struct stop_signals *signals, int number);
    void *context; /* the caller's */
};

/* From now on the first of the signals calls `came` from the loop. -1 with ERROR_SYSTEM. */
int stop_signals_open(struct stop_signals *signals, uv_loop_t *loop, struct error *error);

/* The first that came, also before the loop has noticed; 0: none. */
int stop_signals_number(void);

/* From now on nobody is called, but calls that wait still fail. Does nothing if it is not open. */
void stop_signals_close(struct stop_signals *signals);

#endif
