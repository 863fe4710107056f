/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_SPECULATION_SPECULATION_H
#define GASPIPE_SUPERVISOR_SCHEDULE_SPECULATION_SPECULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "store/store.h"
#include "supervisor/schedule/delivery_route.h"
#include "supervisor/vats/warehouse.h"

/*
 * Speculative delivery: deliveries to several vats at a time (--jobs).
 *
 * Cranks run one after the other, in the kernel's order, and nothing else can be observed. But
 * a delivery that will probably come next to a vat is given to that vat's idle worker before
 * its turn. The worker's requests are recorded, and answered without the kernel; at the
 * delivery's turn the record is replayed to the scheduler as if it all happened then. If another
 * delivery had the turn, or the kernel answers a syscall differently, the worker is thrown away
 * and comes back by replaying its transcript, like any worker that was lost. So it is if the kernel
 * refuses a syscall that the worker has gone on from; the delivery is then made once more, up to
 * that syscall, to measure what it used (refused_delivery.h).
 *
 * It sits between the scheduler and the warehouse: the scheduler's deliveries go through its
 * route, and the warehouse's events through its listener.
 */
struct speculation;

/* Messages that the scheduler's owner will queue once the kernel has nothing to do. */
struct speculation_source {
    void *context;
    /*
     * The vat that gets the message after `index` others. False: not known yet, nor are those
     * after it.
     */
    bool (*upcoming)(void *context, size_t index, int64_t *vat);
    /* Queues that message into a kernel whose changes will be undone. -1: not known yet. */
    int (*queue_upcoming)(void *context, size_t index, struct kernel *kernel, struct error *error);
};

/* Everything is borrowed. */
struct speculation_options {
    struct store *store;
    struct kernel *kernel;
    uint64_t jobs; /* deliveries under way at a time; at least 2 */
    const struct speculation_source *source;
    struct warehouse_listener events; /* the scheduler's */
    bool (*stopped)(void *context);   /* with the events' context: the scheduler has stopped */
};

/* NULL when memory ran out. */
struct speculation *speculation_new(const struct speculation_options *options, struct error *error);
void speculation_free(struct speculation *speculation); /* NULL is allowed */

/* The listener for the warehouse, and the route to that warehouse. */
struct warehouse_listener speculation_listener(struct speculation *speculation);
struct delivery_route speculation_route(struct speculation *speculation,
                                        struct warehouse *warehouse);

/* Until the next delivery has its turn, a vat's snapshot is waited for: others' deliveries go on.
 */
void speculation_go_on(struct speculation *speculation);

#endif
