/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRANSCRIPT_DELIVERY_COMPARE_H
#define GASPIPE_SUPERVISOR_TRANSCRIPT_DELIVERY_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "proto/meter.h"
#include "supervisor/transcript/recorded_delivery.h"

/*
 * A delivery that is replayed, held against its record: each syscall that the worker makes,
 * then its result and its counts. It does no I/O.
 */

enum compare_aspect {
    COMPARE_SYSCALL,
    COMPARE_RESULT,
    COMPARE_COMPUTRONS,
    COMPARE_INSTRUCTIONS,
    COMPARE_SNAPSHOT, /* the SHA-256 of a snapshot, and so the whole heap */
    COMPARE_ALLOCATION,
    COMPARE_ASPECTS, /* their number */
};

/* "syscall", "result", ... */
extern const char *const compare_aspect_names[];

struct difference {
    enum compare_aspect aspect;
    uint64_t line;       /* of the recording */
    int64_t syscall_num; /* of COMPARE_SYSCALL, from 0 in the delivery */
    struct buf recorded; /* JSON; empty if missing */
    struct buf replayed; /* JSON; empty if missing */
};

enum compare_result {
    COMPARE_SAME,
    COMPARE_DIFFERS, /* `difference` says where */
    COMPARE_CUT,     /* the recording ends here, in mid-delivery */
    COMPARE_REFUSED, /* the same up to the syscall that the kernel refused: the worker's end */
};

/* All zeros: compare everything but instructions and allocation. */
struct compare_rules {
    const char *fingerprint;   /* of what counts instructions here; NULL: nothing does */
    bool session_counts_alike; /* so were they counted where a delivery does not say */
    bool compares_allocation;  /* how much an engine allocates depends on what it started from */
    unsigned tolerated;        /* 1 << COMPARE_...: differences that are reported and tolerated */
    bool tolerates_gc;         /* so is one in the reads of delivery_compare.c */
};

struct delivery_compare {
    const struct recorded_delivery *recorded;
    const struct compare_rules *rules;
    size_t made; /* syscalls of the record so far */
    struct difference difference;
    json_t *known; /* reads of this vat so far, borrowed; NULL: gc is not tolerated */
    /* Called for each tolerated difference; may be NULL. */
    void (*tolerate)(void *context, const struct difference *difference);
    void *context;
};

/* How a delivery ended in the worker. All zeros: it did not. */
struct delivery_outcome {
    struct buf status;  /* "ok" or "error" */
    struct buf problem; /* JSON; "null" if none */
    struct meter meter;
    bool metered; /* it is known */
    bool died;    /* the worker did */
};

/*
 * Takes the payload of a COMMAND_REQUEST frame. COMPARE_SAME with the answer, borrowed from
 * the record, that the worker is to be given; else nothing more of this delivery is to be
 * compared.
 */
enum compare_result delivery_compare_syscall(struct delivery_compare *compare,
                                             struct scan_span message, struct scan_span *answer);

/* The VatSyscallObject of ["syscall",VatSyscallObject]; other messages as they are. */
struct scan_span delivery_compare_syscall_of(struct scan_span message);

/*
 * Compares how it ended. A problem that was not recorded, and counts that were not recorded or
 * counted otherwise, are not compared.
 */
enum compare_result delivery_compare_outcome(struct delivery_compare *compare,
                                             const struct delivery_outcome *outcome);

/* Returns true if these rules compare the delivery's instructions. */
bool delivery_compare_counts(const struct compare_rules *rules,
                             const struct recorded_result *recorded, const struct meter *meter);

/* Notes a difference; a side that is no span was not there. COMPARE_DIFFERS. */
enum compare_result difference_set(struct difference *difference, enum compare_aspect aspect,
                                   struct scan_span recorded, struct scan_span replayed);
void difference_free(struct difference *difference);

/* ---- the outcome ---- */

/*
 * Reads the payload of a COMMAND_DONE frame. -1 with ERROR_INPUT: it has no meter record; or
 * ERROR_SYSTEM: memory ran out.
 */
int delivery_outcome_read(struct delivery_outcome *outcome, struct iovec payload,
                          struct error *error);

/* An error in words, as of a worker that died. -1 with ERROR_SYSTEM. */
int delivery_outcome_fail(struct delivery_outcome *outcome, const char *words, size_t length,
                          struct error *error);

void delivery_outcome_free(struct delivery_outcome *outcome);

#endif
