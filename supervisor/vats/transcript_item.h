/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRANSCRIPT_ITEM_H
#define GASPIPE_SUPERVISOR_TRANSCRIPT_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/scan.h"
#include "store/store.h"

/*
 * One delivery of a transcript as the store keeps it, with SwingSet's fields and
 * ours behind them:
 *     {"d":VatDeliveryObject,"sc":[{"s":VatSyscallObject,"r":ANSWER},...],
 *      "r":{"status":"ok","metering":{"computrons":N},"instructions":N,"fingerprint":HEX}}
 * ANSWER is what went back to the vat, ["ok",RESULT].
 */
struct transcript_item {
    struct buf json; /* the text that the rest points into */
    struct scan_span delivery;
    struct scan_cursor syscalls;  /* those not taken yet */
    struct scan_span status;      /* without its quotes */
    int64_t compute;              /* computrons; -1: not said */
    int64_t instructions;         /* -1: not counted */
    struct scan_span fingerprint; /* of what counted them, without quotes */
};

/* All zeros is an empty item. Reads the one at that place. -1 with ERROR_SYSTEM. */
int transcript_item_read(struct transcript_item *item, struct store *store, int64_t vat,
                         int64_t incarnation, int64_t position, struct error *error);

/* Takes its next syscall. False: there is no more. */
bool transcript_item_next(struct transcript_item *item, struct scan_span *syscall,
                          struct scan_span *answer);

void transcript_item_free(struct transcript_item *item);

#endif
