/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PING_PING_BASELINE_H
#define GASPIPE_SUPERVISOR_PING_PING_BASELINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "supervisor/process/placement.h"

/*
 * What the pipe itself costs: a child process that reads so many bytes and
 * writes so many back, with nothing but read(2) and write(2) on either side.
 */
struct ping_baseline {
    pid_t child;
    int down, up;   /* our ends */
    char *bytes;    /* owned; of the larger direction */
    size_t to, fro; /* bytes of a frame in each direction */
};

/* 0, or -1 with ERROR_SYSTEM, and then there is nothing to close. */
int ping_baseline_open(struct ping_baseline *baseline, size_t to, size_t fro,
                       const struct placement *placement, struct error *error);

/* One round trip: *nanoseconds is how long it took. */
int ping_baseline_trip(const struct ping_baseline *baseline, int64_t *nanoseconds,
                       struct error *error);

void ping_baseline_close(struct ping_baseline *baseline);

/*
 * The child process is this program, as `gaspipe ping OPTION TO FRO`, which comes to this
 * function: it answers on stdin and stdout until stdin ends. Returns the exit status. Not for
 * users.
 */
#define PING_BASELINE_OPTION "--be-baseline-peer"
int ping_baseline_answer(const char *to, const char *fro);

#endif
