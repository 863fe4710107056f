/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/vat_timer.h"

static void ring_in(struct vat_timer *timer, uint64_t milliseconds);

/*
 * A loop that was held up, by a slow disk or by whoever reads its output, runs timers before it
 * reads: what has come meanwhile is read first, and the worker gets as long again as the loop
 * was late.
 */
static void timer_rang(uv_timer_t *handle)
{
    struct vat_timer *timer = handle->data;

    if (timer->overdue) {
        timer->rang(timer->context);
        return;
    }
    timer->overdue = true;
    ring_in(timer, uv_now(handle->loop) - timer->due + 1);
}

static void ring_in(struct vat_timer *timer, uint64_t milliseconds)
{
    timer->due = uv_now(timer->handle.loop) + milliseconds;
    /* Cannot fail: the callback is there. */
    (void)uv_timer_start(&timer->handle, timer_rang, milliseconds, 0);
}

void vat_timer_init(struct vat_timer *timer, uv_loop_t *loop, void (*rang)(void *context),
                    void *context)
{
    (void)uv_timer_init(loop, &timer->handle); /* cannot fail in any libuv 1 */
    timer->handle.data = timer;
    timer->rang = rang;
    timer->context = context;
}

void vat_timer_start(struct vat_timer *timer, uint64_t milliseconds)
{
    timer->limit_ms = milliseconds;
    timer->overdue = false;
    if (milliseconds == 0)
        return;
    /* What was done since the loop looked at the clock, a commit for one, is not the
     * worker's time. */
    uv_update_time(timer->handle.loop);
    ring_in(timer, milliseconds);
}

void vat_timer_stop(struct vat_timer *timer)
{
    uv_timer_stop(&timer->handle);
}
