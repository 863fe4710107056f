/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_STATE_H
#define GASPIPE_KERNEL_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/output/spool.h"
#include "kernel/kernel.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"

/* The kernel's state in memory: the crank in progress, and the second kernel of predict.c. */

/* Kinds of work; crank.c names each. */
enum crank_kind {
    CRANK_SEND,
    CRANK_NOTIFY,
    CRANK_START_VAT,
    CRANK_CREATE_VAT,
    CRANK_UPGRADE_VAT,
    CRANK_CHANGE_OPTIONS,
    CRANK_DROP_EXPORTS,
    CRANK_RETIRE_EXPORTS,
    CRANK_RETIRE_IMPORTS,
    CRANK_REAP,
    CRANK_CLEAN_UP,
    CRANK_NEGATED,
    CRANK_QUARANTINE, /* this and the following: lifecycle/operator_work.c */
    CRANK_RELEASE,
    CRANK_TERMINATE,
    CRANK_SKIP,
    CRANK_SET_LIMIT,
};

/* The delivery in progress. */
struct delivery_state {
    bool in_progress;
    enum kernel_vat_runtime runtime;
    struct kernel_delivery view; /* what the caller sees; its texts are those below */
    json_t *kd_value, *vd_value; /* owned */
    struct buf kd, vd;
    struct spool item;           /* of the transcript, up to the last syscall */
    bool has_syscall;            /* the item has */
    struct kernel_limits limits; /* of its vat */
    int64_t syscall_count;
    int64_t transferred; /* bytes, see kernel_limits */
    struct buf illegal;  /* why a syscall could not be; empty: none was so */
    json_t *exit_info;   /* capdata with krefs; NULL: the vat did not ask to exit */
    bool exit_failure;
    bool is_reap;            /* bringOutYourDead */
    bool is_upgrade_end;     /* startVat of the next incarnation */
    bool is_before_snapshot; /* bringOutYourDead after the crank's own delivery */
};

/* The outcome of a crank's deliveries. */
struct crank_results {
    bool undo;            /* what they changed does not stay */
    bool terminate;       /* the vat ends */
    bool reject;          /* ... with a failure */
    json_t *info;         /* ... for this reason: capdata with krefs */
    bool rejects_message; /* a plain vat's error: only the message's result fails */
    int64_t compute;      /* computrons of all deliveries */
};

/* The running hash of the whole state; see crank_hash.h. */
struct state_sum {
    bool known; /* else to be added up from the store's rows */
    uint64_t sum;
};

struct crank_state {
    bool in_progress;
    int savepoints; /* of the store, that this crank has set: 1 for all of it, 2 for its delivery */
    enum crank_kind kind;
    json_t *message; /* the work, owned */
    struct buf message_text;
    struct kernel_crank view;
    int64_t vat;                      /* that is or would be delivered to; 0: none */
    size_t changes_before[2];         /* length of kernel->changes when each savepoint was set */
    struct state_sum state_before[2]; /* ... and kernel->state */
    int64_t cleaned_up;               /* a vat, of which nothing is left now; else 0 */
    int64_t *stopped;                 /* vats whose workers must end */
    size_t stopped_count, stopped_capacity;
    struct crank_results results;
    struct delivery_state delivery;
};

struct kernel {
    struct store *store;
    struct kernel_listener listener;
    struct kernel_limits limits;     /* of vats that are made */
    struct reference_set maybe_free; /* krefs that lost a reference; see collect.h */
    struct spool changes;            /* what the crank hash is made of; see crank_hash.h */
    struct state_sum state;
    struct buf value;              /* for keys.c alone */
    struct json_memo read;         /* records that were parsed, */
    struct json_memo queued;       /* and work that was put into a queue */
    struct buf vsc, ksc, ksr, vsr; /* the texts of the last syscall */
    struct crank_state crank;
    /* Known to be absent, so that no crank looks for them: see held.h and operate.h. False: look.
     */
    bool no_quarantine, no_operator_work;
    struct kernel *shadow; /* of the same store, for predictions; owned; NULL: not used yet */
};

#endif
