/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRANSCRIPT_RECORDED_DELIVERY_H
#define GASPIPE_SUPERVISOR_TRANSCRIPT_RECORDED_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/scan.h"
#include "store/store.h"

/*
 * One delivery as it was recorded: what the vat was sent, its syscalls with their answers,
 * and its result. It is read from an entry of a transcript, or put together from the lines
 * of a slogfile. All zeros is an empty one, which can be used again and again.
 */

/* A number that the recording does not have. */
#define RECORDED_NONE INT64_MIN

struct recorded_syscall {
    struct scan_span made;   /* VatSyscallObject */
    struct scan_span answer; /* ["ok",RESULT]; none: the recording ends before it */
    uint64_t line;
};

struct recorded_result {
    struct scan_span status;  /* "ok" or "error", without its quotes; none: not recorded */
    struct scan_span problem; /* JSON; none: not recorded */
    int64_t compute;          /* computrons */
    int64_t allocate;         /* bytes */
    int64_t instructions;
    struct scan_span refused; /* VatSyscallObject at which the kernel ended it; none: it did not */
    bool limited; /* one of them is the limit that stopped the delivery, and not what it used */
    struct scan_span fingerprint; /* of what counted them; none: the session's */
    uint64_t line;
};

/* Spans point into `text`. */
struct recorded_delivery {
    struct buf text;
    struct scan_span delivery; /* VatDeliveryObject */
    struct recorded_syscall *syscalls;
    size_t syscall_count, syscall_capacity;
    bool finished; /* else the recording ends before the result */
    struct recorded_result result;
};

/* ---- from an entry of a transcript ---- */

/*
 * The text is in `text`:
 *     {"d":VatDeliveryObject,"sc":[{"s":VatSyscallObject,"r":ANSWER},...],
 *      "r":{"status":"ok","metering":{"computrons":N},"instructions":N,"fingerprint":HEX}}
 * or, as kernels before swing-store wrote it:
 *     {"d":VatDeliveryObject,"syscalls":[{"d":VatSyscallObject,"response":RESULT},...]}
 * `line` is where it stands. -1 with ERROR_INPUT for anything else, or ERROR_SYSTEM.
 */
int recorded_delivery_parse(struct recorded_delivery *recorded, uint64_t line, struct error *error);

/* The entry at this position of a store. Its line number is that in an exported transcript, after
 * the create-vat line. -1 with ERROR_SYSTEM. */
int recorded_delivery_fetch(struct recorded_delivery *recorded, struct store *store, int64_t vat,
                            int64_t incarnation, int64_t position, struct error *error);

/* ---- piece by piece: the delivery, each syscall and its answer, the result ---- */

/* Each copies its spans. 0, or -1 when memory ran out. */
int recorded_delivery_begin(struct recorded_delivery *recorded, struct scan_span delivery);
int recorded_delivery_add_syscall(struct recorded_delivery *recorded, struct scan_span made,
                                  uint64_t line);

/* To the last syscall. */
int recorded_delivery_add_answer(struct recorded_delivery *recorded, struct scan_span answer);
int recorded_delivery_add_result(struct recorded_delivery *recorded,
                                 const struct recorded_result *result);

void recorded_delivery_free(struct recorded_delivery *recorded);

/* The integer member `name` of a JSON object; RECORDED_NONE if it has none. */
int64_t recorded_integer(struct scan_span object, const char *name);

/* The members of a transcript's line other than the delivery. */
struct recorded_entry {
    int64_t delivery_num;
    bool replay;                  /* it brought a worker back */
    struct scan_span fingerprint; /* of what counted, where the delivery does not say */
};

/*
 * Appends a finished delivery as a line that recorded_delivery_parse() reads:
 *     {"deliveryNum":N,"replay":true,"d":[...],"sc":[...],"r":{...}}
 */
void recorded_entry_put(struct buf *out, const struct recorded_delivery *recorded,
                        const struct recorded_entry *entry);

#endif
