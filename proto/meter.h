/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_PROTO_METER_H
#define GASPIPE_PROTO_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stamp.h"

/*
 * The meter record that a worker sends with each result. Its JSON has xsnap's
 * fields under xsnap's names (currentHeapCount, compute, allocate, timestamps)
 * followed by gaspipe's own (docs/pipe-protocol.md).
 */
struct meter_cpu {
    int64_t user;    /* µs of CPU time in user mode, in this delivery */
    int64_t system;  /* µs in the kernel */
    int64_t waits;   /* voluntary context switches: the worker slept */
    int64_t preempt; /* involuntary ones: another process ran instead */
    int64_t faults;  /* major page faults */
};

struct meter {
    uint64_t heap_count; /* slots in use in the engine's heap */
    uint64_t compute;    /* computrons */
    uint64_t allocate;   /* bytes that the engine allocated for slots and chunks */

    /* Delivery received; for each request: sent, answer received; before sending the result. */
    struct stamp *stamps;
    size_t stamp_count;

    bool counted; /* the next three are there: an instruction counter ran */
    uint64_t instructions;
    uint64_t bytes_read;
    uint64_t bytes_written;

    /*
     * By function and line, JSON (docs/profile-format.md), borrowed from the text's owner; empty
     * if absent.
     */
    struct iovec profile;

    /*
     * The record as its worker wrote it, without the profile, borrowed likewise. Only set if it
     * can be copied into a slog line: only members named here and no blanks.
     */
    struct iovec text;

    bool cost_known; /* the compiled-in meter (docs/compiled-meter.md) ran */
    uint64_t block_cost;

    bool gas_known;     /* the engine charges gas */
    uint64_t gas_burnt; /* by NEAR's costs (docs/wasm.md) */
    bool refund_known;
    uint64_t gas_refunded; /* prepaid gas that the payer gets back */
    struct iovec
        gas_profile; /* the same by cost: a JSON object of numbers, borrowed as `profile` */

    bool cpu_known;
    struct meter_cpu cpu;
};

/* Appends the record as one JSON object; without monotimes where the stamps' `mono` is 0. */
void meter_encode(struct buf *buf, const struct meter *meter);

/*
 * Reads a record of gaspipe's worker or of xsnap-worker. Without monotimes the stamps' `mono` is
 * 0. ERROR_INPUT if numbers that xsnap sends are missing, of the wrong type, or negative. On
 * success the caller frees meter->stamps with meter_free().
 */
int meter_decode(struct meter *meter, const char *json, size_t length, struct error *error);

/*
 * Splits a result frame after its first byte, METER \1 RESULT. *result points into the frame. Else
 * as meter_decode().
 */
int meter_split(struct iovec frame, struct meter *meter, struct iovec *result, struct error *error);

/* Returns true if the delivery took at least METER_LONG_NS of CPU time; if the worker reports none,
 * the time from its first to its last stamp counts. For shorter ones, neither a prediction nor a
 * CPU of its own is worth the cost. */
enum { METER_LONG_NS = 2000000 };
bool meter_is_long(const struct meter *meter);

/* Copies a record, to be freed as well. -1 when out of memory. */
int meter_copy(struct meter *copy, const struct meter *meter);

void meter_free(struct meter *meter);

#endif
