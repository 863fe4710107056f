/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_COST_LIMIT_H
#define GASPIPE_WORKER_COST_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The limit of a delivery's block cost, in a worker that has the meter compiled in. Past it the
 * engine is to stop at its next check. Code of the engine that never checks, such as a long
 * native builtin, may use COST_LIMIT_GRACE units more; then the process ends with
 * WORKER_EXIT_COST. Both places are the same on every machine.
 *
 * Without the meter these are constants, so that the machine instructions of the ordinary worker
 * are what they were.
 */
enum { COST_LIMIT_GRACE = 1 << 26 };

#ifdef __GASPIPE_METER__

/* The calling thread may use so many units from now on. */
void cost_limit_set(uint64_t units);

/* No limit any more; cost_limit_passed() still says whether it was passed. */
void cost_limit_lift(void);

/* Whether a limit has been passed since the last cost_limit_forget(). */
bool cost_limit_passed(void);
void cost_limit_forget(void);

#else

static inline void cost_limit_set(uint64_t units)
{
    (void)units;
}

static inline void cost_limit_lift(void)
{
}

static inline bool cost_limit_passed(void)
{
    return false;
}

static inline void cost_limit_forget(void)
{
}

#endif

#endif
