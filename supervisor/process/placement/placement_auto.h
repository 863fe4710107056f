/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_PLACEMENT_AUTO_H
#define GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_PLACEMENT_AUTO_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What `--placement auto` decides, from what it is told: no clock, no system call.
 *
 * Who waits for a worker and the worker itself are best on one processor: a switch there
 * takes a few microseconds, waking another processor tens of them. Not so when several
 * workers are at work at once, nor when somebody else wants that processor. So: together
 * while one delivery is in flight, apart (wherever the system puts them) while several are;
 * apart too when being together has cost more than being apart does, with another trial
 * after a while, and after twice as long each time that it fails.
 */
enum placement_side {
    PLACEMENT_APART,
    PLACEMENT_TOGETHER,
};

/* Of a delivery that has ended. */
struct placement_observation {
    int64_t now;    /* nanoseconds of CLOCK_MONOTONIC */
    int64_t waited; /* nanoseconds: frames in the pipe, the worker not being let run */
    int64_t frames; /* both ways; at least 1 */
    int in_flight;  /* deliveries at that time, with this one; at least 1 */
};

/* All zeros at the beginning: apart, nothing known. */
struct placement_auto {
    enum placement_side side;
    double apart_frame; /* nanoseconds that a frame waits apart, as last measured; 0: not yet */
    int64_t window_began, waited, frames; /* since then; 0: no window is open */
    int bad_windows;                      /* together, one after the other */
    int good_windows;
    int64_t trial_at;    /* apart: when to try together again; 0: at once */
    int64_t trial_after; /* how long after the last failure that is; 0: none has failed */
};

/*
 * True when from now on they are to be on the other side; *reason then is why, for people,
 * a string for ever.
 */
bool placement_auto_observe(struct placement_auto *state, const struct placement_observation *seen,
                            const char **reason);

#endif
