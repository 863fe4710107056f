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
    int64_t user;    /* µs of processor time in user mode, in this delivery */
    int64_t system;  /* µs in the kernel */
    int64_t waits;   /* voluntary context switches: the worker slept */
    int64_t preempt; /* involuntary ones: it was not let run */
    int64_t faults;  /* major page faults */
};

struct meter {
    uint64_t heap_count; /* slots in use in the engine's heap */
    uint64_t compute;    /* computrons */
    uint64_t allocate;   /* bytes that the engine took for heap and chunks */

    /* Delivery come; for each request: sent, answer come; result about to go. */
    struct stamp *stamps;
    size_t stamp_count;

    bool counted; /* the next three are there: an instruction counter ran */
    uint64_t instructions;
    uint64_t bytes_read;
    uint64_t bytes_written;

    /* By function and line, JSON (docs/profile-format.md), borrowed from whoever has the text;
     * no bytes: there is none. */
    struct iovec profile;

    /* The record as its worker wrote it, borrowed likewise, if it can stand in a line of a
     * slogfile: nothing in it but members named here, without the profile, and no blanks. */
    struct iovec text;

    bool cost_known; /* the compiled-in meter (docs/compiled-meter.md) ran */
    uint64_t block_cost;

    bool gas_known;     /* the engine charges gas */
    uint64_t gas_burnt; /* by NEAR's costs (docs/wasm.md) */
    bool refund_known;
    uint64_t gas_refunded; /* of what was prepaid, to who paid */
    struct iovec
        gas_profile; /* the same by cost: a JSON object of numbers, borrowed as `profile` */

    bool cpu_known;
    struct meter_cpu cpu;
};

/* Appends the record as one JSON object; without monotimes where the stamps' `mono` is 0. */
void meter_encode(struct buf *buf, const struct meter *meter);

/*
 * Reads a record that a worker of ours or xsnap-worker wrote. Without monotimes
 * the stamps' `mono` is 0. Numbers that are missing where xsnap has them, of
 * the wrong type, or negative are ERROR_INPUT. On success meter->stamps is the
 * caller's to give back with meter_free().
 */
int meter_decode(struct meter *meter, const char *json, size_t length, struct error *error);

/*
 * Takes a result frame behind its first byte, METER \1 RESULT, apart. *result
 * points into the frame. As meter_decode() otherwise.
 */
int meter_split(struct iovec frame, struct meter *meter, struct iovec *result, struct error *error);

/* The same record, to be given back as well. -1 when memory ran out. */
int meter_copy(struct meter *copy, const struct meter *meter);

void meter_free(struct meter *meter);

#endif
