/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_CPU_WAIT_H
#define GASPIPE_BASE_CPU_WAIT_H

#include <stdint.h>
#include <sys/types.h>

/*
 * How long a thread was ready to run but had no CPU, as Linux counts it (schedstat in proc(5)),
 * whatever the thread does and wherever it is confined. A sample costs about a microsecond, so one
 * serves everything that begins within the next millisecond, and only what takes longer has a
 * second one. Times are nanoseconds of CLOCK_MONOTONIC. All zeros is the state before the first.
 */
struct cpu_wait {
    enum { CPU_WAIT_UNTRIED, CPU_WAIT_OPEN, CPU_WAIT_ABSENT } state; /* whether fd is open */
    int fd;
    int64_t at, waited; /* of the last sample */
};

/* The waits of both ends of a pipe; -1: not known. */
struct cpu_waits {
    int64_t gaspipe, worker;
};

#define CPU_WAITS_UNKNOWN ((struct cpu_waits){-1, -1})

/* Work that took no longer is not judged. */
enum { CPU_WAIT_SLOW = 1000 * 1000 };

/*
 * The wait so far, to be passed to cpu_wait_end(); -1: not known. Call it just before the work. The
 * thread is the first one of `process`; 0: the calling thread.
 */
int64_t cpu_wait_begin(struct cpu_wait *wait, pid_t process);

/* The wait between both moments; -1: not known, or the work was fast. */
int64_t cpu_wait_end(struct cpu_wait *wait, int64_t before, int64_t began, int64_t ended);

void cpu_wait_close(struct cpu_wait *wait);

#endif
