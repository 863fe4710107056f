/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_VAT_H
#define GASPIPE_SUPERVISOR_REPLAY_VAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/launcher.h"
#include "supervisor/session.h"
#include "supervisor/transcript.h"
#include "supervisor/vat_runtime.h"

/*
 * One vat that is replayed: a worker that is sent what the vat was sent, and
 * what it asks and answers beside what was recorded.
 */

/* What a replay works with. */
struct replay_host {
    uv_loop_t *loop;
    const struct launcher *launcher;
    struct vat_runtimes *runtimes;
    struct transcript *transcript;
    uint64_t timeout_ms;       /* for a delivery; 0: none */
    bool compare_instructions; /* both sides were counted alike */
};

/* Where a vat's replay stands. */
enum replay_state {
    REPLAY_FRESH,   /* the next delivery starts its worker */
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

    struct buf bundle; /* JSON; empty: the file has none */
    struct session *session;
    bool reloaded;          /* its recorded worker came from a snapshot, ours went on */
    struct buf saved_hash;  /* of the last snapshot that the recorded worker made */
    struct buf description; /* of the delivery in hand */

    /* What was the same. */
    int64_t deliveries, syscalls;
    int64_t computed;        /* deliveries whose computrons were compared, */
    int64_t computrons;      /* and their sum */
    int64_t counted;         /* deliveries whose instructions were compared, */
    int64_t instructions;    /* and their sum */
    int64_t cut;             /* deliveries that the recording does not finish */
    int64_t after_snapshots; /* deliveries whose computrons a snapshot changes */
};

/* NULL when memory ran out. */
struct replay_vat *replay_vat_new(struct scan_span id, struct error *error);

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
int replay_vat_deliver(struct replay_vat *vat, const struct replay_host *host,
                       const struct transcript_step *step, struct error *error);

#endif
