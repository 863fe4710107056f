/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_TIMER_H
#define GASPIPE_SUPERVISOR_VATS_VAT_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* How long a worker may take for what it was sent. */
struct vat_timer {
    uv_timer_t handle; /* the owner closes it */
    void (*rang)(void *context);
    void *context;
    uint64_t limit_ms; /* as it was started with */
    uint64_t due;      /* when it is to ring, uv_now() */
    bool overdue;      /* it has rung once */
};

void vat_timer_init(struct vat_timer *timer, uv_loop_t *loop, void (*rang)(void *context),
                    void *context);

/* rang() is called from within the loop after that time; 0: never. */
void vat_timer_start(struct vat_timer *timer, uint64_t milliseconds);
void vat_timer_stop(struct vat_timer *timer);

#endif
