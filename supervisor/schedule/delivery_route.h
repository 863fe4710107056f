/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_DELIVERY_ROUTE_H
#define GASPIPE_SUPERVISOR_SCHEDULE_DELIVERY_ROUTE_H

#include <stdint.h>
#include <sys/uio.h>

#include "base/stamp.h"
#include "kernel/kernel.h"
#include "supervisor/vats/warehouse.h"

/*
 * How the scheduler reaches a vat's worker during a delivery. What the worker does comes
 * back as the warehouse's events. With one job at a time the route leads straight to the
 * warehouse; with several (speculation/speculation.h), a delivery may have been made already,
 * and its events are then replayed from within deliver().
 */
struct delivery_route {
    void *context;
    /* Makes the delivery. Its texts are borrowed until it ends. */
    void (*deliver)(void *context, const struct kernel_delivery *delivery);
    /* Answers the vat's syscall, with JSON. When the answer was sent. */
    struct stamp (*reply)(void *context, int64_t vat, struct iovec answer);
    /* Ends the worker of a vat that made an illegal syscall: its delivery is lost for `reason`. */
    void (*condemn)(void *context, int64_t vat, const char *reason);
    /* The vat's worker will be stopped next: forget what it is doing. */
    void (*withdraw)(void *context, int64_t vat);
};

struct delivery_route delivery_route_direct(struct warehouse *warehouse);

#endif
