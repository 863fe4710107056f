/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_REPLAY_H
#define GASPIPE_SUPERVISOR_VATS_VAT_REPLAY_H

#include "base/buf.h"
#include "supervisor/transcript/delivery_compare.h"
#include "supervisor/vats/rules/vat_frame.h"
#include "supervisor/vats/rules/vat_reason.h"

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

/* The delivery's number. */
int64_t vat_replay_num(const struct vat_replay *replay);

/*
 * Reads the delivery at the position. Its count of instructions is compared when it was taken
 * under `fingerprint` (NULL: nothing counts here). 0, or -1 with the error.
 */
int vat_replay_read(struct vat_replay *replay, const struct vat_transcript *transcript,
                    const char *fingerprint, struct error *error);

enum vat_replay_request {
    VAT_REPLAY_CONSOLE, /* a console call; they are not recorded */
    VAT_REPLAY_SYSCALL, /* the syscall that was recorded */
    VAT_REPLAY_DIFFERS, /* the reason says in what */
    VAT_REPLAY_FAILED,  /* memory ran out */
};

/* The number of the last syscall in this delivery. */
int64_t vat_replay_syscall_num(const struct vat_replay *replay);

/*
 * Compares what the worker asks with what it asked then. texts[0] and texts[1] are the syscall
 * and its answer as recorded, which stay until the next vat_replay_read().
 */
enum vat_replay_request vat_replay_compare_request(struct vat_replay *replay, struct iovec payload,
                                                   struct scan_span texts[2],
                                                   struct vat_reason *reason);

/* Whether the delivery ended as it did then; else the reason says in what it differs. */
bool vat_replay_compare_ending(struct vat_replay *replay, const struct vat_frame *ending,
                               struct vat_reason *reason);

void vat_replay_free(struct vat_replay *replay);

#endif
