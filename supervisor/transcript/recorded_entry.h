/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRANSCRIPT_RECORDED_ENTRY_H
#define GASPIPE_SUPERVISOR_TRANSCRIPT_RECORDED_ENTRY_H

#include "supervisor/transcript/recorded_delivery.h"

/* What a delivery's line in a transcript says beside the delivery. */
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
