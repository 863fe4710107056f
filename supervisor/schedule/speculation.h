/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_SPECULATION_H
#define GASPIPE_SUPERVISOR_SCHEDULE_SPECULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "store/store.h"
#include "supervisor/vats/warehouse.h"

/*
 * Speculative delivery (--jobs): an idle worker is sent its vat's predicted next delivery before
 * its turn. Its requests are recorded and answered without the kernel; at the delivery's turn the
 * record is replayed to the scheduler. After a misprediction, or if the kernel answers a syscall
 * differently, the worker is discarded and its vat restored from its transcript.
 *
 * The worker may have continued past a syscall that the kernel refuses. The delivery then runs
 * again up to that syscall, to measure what it used (struct refused_delivery).
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
    struct warehouse *warehouse;
    uint64_t jobs; /* deliveries in progress at a time; at least 2 */
    const struct speculation_source *source;
    void *context;                                                     /* the scheduler's, */
    void (*event)(void *context, const struct warehouse_event *event); /* for replayed events, */
    bool (*stopped)(void *context); /* and whether it has stopped */
};

/* NULL if out of memory. */
struct speculation *speculation_new(const struct speculation_options *options, struct error *error);
void speculation_free(struct speculation *speculation); /* NULL is allowed */

/* Returns true if the event belongs to a speculative delivery: the scheduler ignores it then. */
bool speculation_takes(struct speculation *speculation, const struct warehouse_event *event);

/* Begins the delivery whose turn it is; if it was predicted, its events follow before this
 * returns. Its texts are borrowed until it ends. */
void speculation_begin(struct speculation *speculation, const struct kernel_delivery *delivery);

/* warehouse_reply() and warehouse_abort_delivery() for the delivery whose turn it is. */
struct stamp speculation_reply(struct speculation *speculation, int64_t vat, struct iovec answer);
void speculation_abort_delivery(struct speculation *speculation, int64_t vat, enum error_kind blame,
                                const char *reason);

/* Drops the vat's speculative delivery, if it has one, with its worker. */
void speculation_withdraw(struct speculation *speculation, int64_t vat);

/* While a snapshot is written: begins other vats' deliveries. */
void speculation_continue(struct speculation *speculation);

#endif
