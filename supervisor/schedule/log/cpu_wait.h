/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_LOG_CPU_WAIT_H
#define GASPIPE_SUPERVISOR_SCHEDULE_LOG_CPU_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How long this thread was ready to run but had no CPU, as proc(5) has it. Reading that costs
 * about a microsecond, so it is read around slow deliveries only. All zeros is the state before
 * the first. Times are nanoseconds of CLOCK_MONOTONIC.
 */
struct cpu_wait {
    int fd; /* + 1; 0: not opened, -1: there is no such file */
    int64_t at, waited;
    bool begun;
};

/* A delivery was sent. */
void cpu_wait_begin(struct cpu_wait *wait, int64_t sent);

/* It returned: how long the thread waited meanwhile; -1: not known, or the delivery was fast. */
int64_t cpu_wait_end(struct cpu_wait *wait, int64_t sent, int64_t returned);

void cpu_wait_close(struct cpu_wait *wait);

#endif
