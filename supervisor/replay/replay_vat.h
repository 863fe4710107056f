/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_VAT_H
#define GASPIPE_SUPERVISOR_REPLAY_VAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/replay/replay_worker.h"
#include "supervisor/replay/transcript.h"

/*
 * One vat that is replayed: a worker that is sent what the vat was sent, and
 * what it asks and answers beside what was recorded.
 */

/* Where a vat's replay stands. */
enum replay_state {
    REPLAY_FRESH,   /* the next delivery starts its worker, afresh */
    REPLAY_STORED,  /* the next delivery starts its worker, from the snapshot */
    REPLAY_LIVE,    /* its worker waits for a delivery */
    REPLAY_OVER,    /* it was terminated, or its worker ended as recorded */
    REPLAY_SKIPPED, /* it cannot be replayed from here on; `why` says why */
    REPLAY_DIFFERS, /* `difference` says where */
};

enum replay_aspect {
    REPLAY_SYSCALL,
    REPLAY_RESULT,
    REPLAY_COMPUTRONS,
    REPLAY_INSTRUCTIONS,
    REPLAY_SNAPSHOT, /* the SHA-256 of a snapshot, and so the whole heap */
};

/* The first difference of a vat. */
struct replay_difference {
    enum replay_aspect aspect;
    uint64_t line; /* of the file */
    int64_t delivery_num;
    int64_t syscall_num; /* of REPLAY_SYSCALL, from 0 in the delivery */
    struct buf recorded; /* JSON; empty: there was none */
    struct buf replayed; /* JSON; empty: there was none */
};

struct replay_vat {
    char *id;   /* "v1" */
    char *name; /* "" when the file does not say */
    enum replay_state state;
    char why[256];
    struct replay_difference difference;

    struct buf bundle;  /* JSON, terminated; empty: the file has none */
    struct buf upgrade; /* the ID of the bundle that it is upgraded to; empty: to none */
    struct buf before;  /* its bundle before the upgrade, while that may fail */
    struct replay_worker worker;
    int snapshot_fd;          /* of the last snapshot; -1: none was made yet */
    struct buf snapshot_hash; /* its SHA-256, as recorded */
    int64_t delivery_num;     /* of the last delivery */
    struct buf description;   /* of the delivery in hand */

    /* What was the same. */
    int64_t deliveries, syscalls;
    int64_t computed;     /* deliveries whose computrons were compared, */
    int64_t computrons;   /* and their sum */
    int64_t counted;      /* deliveries whose instructions were compared, */
    int64_t instructions; /* and their sum */
    int64_t snapshots;    /* whose hashes were the same */
    int64_t cut;          /* deliveries that the recording does not finish */
};

/* The host is borrowed. NULL when memory ran out. */
struct replay_vat *replay_vat_new(struct scan_span id, const struct replay_host *host,
                                  struct error *error);

/* How another one of that ID stands is how it stands, but for texts, and without a worker. */
void replay_vat_take_over(struct replay_vat *vat, const struct replay_vat *other);

/* Ends its worker: nothing more is delivered to it. */
void replay_vat_close(struct replay_vat *vat);

/* Closes and frees. NULL is allowed. */
void replay_vat_free(struct replay_vat *vat);

/* Takes a step other than those of a delivery. -1 with ERROR_SYSTEM. */
int replay_vat_take(struct replay_vat *vat, const struct transcript_step *step,
                    struct error *error);

/*
 * Delivers, reading the transcript up to the delivery's result. A difference is
 * no failure: it is in the vat. -1 when the system failed or the file is bad.
 */
int replay_vat_deliver(struct replay_vat *vat, const struct transcript_step *step,
                       struct error *error);

/* Notes its first difference and ends its worker. A side that is no span: there was none. */
int replay_vat_differ(struct replay_vat *vat, enum replay_aspect aspect,
                      const struct transcript_step *step, struct scan_span recorded,
                      struct scan_span replayed, struct error *error);

/* A copy of the bundle is its own from now on. */
int replay_vat_keep_bundle(struct replay_vat *vat, struct scan_span bundle, struct error *error);

/* Its names and bundle, as its worker wants them; borrowed. */
struct replay_owner replay_vat_owner(const struct replay_vat *vat);

/* The recorded worker was started anew, without a snapshot. */
int replay_vat_start_afresh(struct replay_vat *vat);

/* It cannot be replayed from here on, and why. Returns 0. */
int replay_vat_skip(struct replay_vat *vat, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
