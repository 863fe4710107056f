/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_REPLAY_H
#define GASPIPE_SUPERVISOR_VATS_VAT_REPLAY_H

#include "base/buf.h"
#include "supervisor/transcript/delivery_compare.h"
#include "supervisor/vats/vat_frame.h"
#include "supervisor/vats/vat_state.h"

/*
 * Deliveries of a vat's transcript that its new worker is sent again, until the vat is where it
 * was: what is sent, and whether the worker does what it did then. No I/O but the store's.
 */
struct vat_replay {
    int64_t first_num;                 /* the number of the delivery at position 0 */
    int64_t position, end;             /* of the delivery in hand, and behind the last */
    struct recorded_delivery recorded; /* the delivery in hand */
    struct compare_rules rules;
    struct delivery_compare compare;
    struct stamp sent;  /* when it was sent */
    struct buf request; /* the worker's last one */
};

/* Which vat it is of. */
struct vat_transcript {
    struct store *store;
    int64_t vat, incarnation;
};

/* Finds the transcript's end; the position stays. 0, or -1 with the error. */
int vat_replay_find_end(struct vat_replay *replay, const struct vat_transcript *transcript,
                        struct error *error);

void vat_replay_free(struct vat_replay *replay);

#endif
