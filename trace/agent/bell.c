/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/agent/bell.h"

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include "trace/agent/system_call.h"

uint32_t bell_silence(_Atomic uint32_t *bell)
{
    return atomic_fetch_and(bell, ~(uint32_t)TRACE_BELL_RUNG) & ~(uint32_t)TRACE_BELL_RUNG;
}

enum bell_end bell_wait(_Atomic uint32_t *bell, uint32_t quiet)
{
    const struct timespec limit = {.tv_sec = 1};
    const long result = (quiet & TRACE_BELL_TRACER) == 0
                            ? 0
                            : system_call(SYS_futex, (long)bell, FUTEX_WAIT, quiet, (long)&limit);

    if ((atomic_load(bell) & TRACE_BELL_TRACER) == 0)
        return BELL_ALONE;
    return result == -ETIMEDOUT ? BELL_SECOND : BELL_RANG;
}

/* ---- turns ---- */

static _Atomic uint32_t turn; /* 1: taken; 2: others may wait for it */

void turn_take(void)
{
    uint32_t free = 0;

    if (atomic_compare_exchange_strong(&turn, &free, 1))
        return;
    while (atomic_exchange(&turn, 2) != 0)
        (void)system_call(SYS_futex, (long)&turn, FUTEX_WAIT_PRIVATE, 2, 0);
}

void turn_leave(void)
{
    if (atomic_exchange(&turn, 0) == 2)
        (void)system_call(SYS_futex, (long)&turn, FUTEX_WAKE_PRIVATE, 1, 0);
}
