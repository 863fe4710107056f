/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/agent/wake_word.h"

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include "trace/agent/system_call.h"

uint32_t wake_word_clear(_Atomic uint32_t *word)
{
    return atomic_fetch_and(word, ~(uint32_t)TRACE_WAKE_SET) & ~(uint32_t)TRACE_WAKE_SET;
}

enum wake_end wake_word_wait(_Atomic uint32_t *word, uint32_t before)
{
    const struct timespec limit = {.tv_sec = 1};
    const long result = (before & TRACE_WAKE_TRACER) == 0
                            ? 0
                            : system_call(SYS_futex, (long)word, FUTEX_WAIT, before, (long)&limit);

    if ((atomic_load(word) & TRACE_WAKE_TRACER) == 0)
        return WAKE_ALONE;
    return result == -ETIMEDOUT ? WAKE_SECOND : WAKE_CHANGED;
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
