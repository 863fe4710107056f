/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_SPECULATIVE_DELIVERY_H
#define GASPIPE_SUPERVISOR_SCHEDULE_SPECULATIVE_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu_wait.h"
#include "base/error.h"
#include "base/stamp.h"
#include "kernel/kernel.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "store/overlay.h"
#include "supervisor/vats/warehouse.h"

/*
 * A delivery that a worker was given before its turn, and a record of what it did: the
 * vat's requests and their answers, and how the delivery ended. Nothing of it is in the store.
 */
struct recorded_request {
    struct vat_request request; /* owned */
    struct stamp come, answered;
    char *answer; /* to a syscall, owned; NULL: the worker waits for it, and this is the last */
};

struct speculative_delivery {
    struct speculative_delivery *next; /* its owner's list */
    int64_t vat, incarnation, position;
    char *vd; /* owned */
    struct stamp sent;

    struct overlay overlay; /* what it wrote into its vatstore */
    struct recorded_request *requests;
    size_t count, capacity;
    size_t bytes; /* of requests and answers, approximately */

    bool waits; /* for an answer that is not known before the delivery's turn */
    bool ended;
    struct stamp come;  /* when its end came */
    bool lost;          /* its worker died, */
    bool used_known;    /* and the meter is as in struct warehouse_loss */
    struct meter meter; /* owned */
    struct cpu_waits cpu_waits;
    char *problem, *stack, *source, *value; /* as in struct warehouse_answer, owned */

    /* For the owner, while its turn lasts: */
    bool replaying; /* the record is being replayed; who replays it frees it */
    bool over;      /* its turn has passed */
};

/* Copies what it needs of the delivery; the store is borrowed. NULL if out of memory. */
struct speculative_delivery *speculative_delivery_new(struct store *store,
                                                      const struct kernel_delivery *delivery);
void speculative_delivery_free(struct speculative_delivery *speculative); /* NULL is allowed */

/* Returns true if this delivery is the one that was predicted. */
bool speculative_delivery_is(const struct speculative_delivery *speculative,
                             const struct kernel_delivery *delivery);

/* Records a console call. -1 if out of memory. */
int speculative_delivery_console(struct speculative_delivery *speculative,
                                 const struct vat_request *request, struct stamp come,
                                 struct error *error);

/* The record has reached its size limit. */
bool speculative_delivery_is_full(const struct speculative_delivery *speculative);

/*
 * Records a syscall. *answer is what to answer with, the record's; NULL: the worker must wait
 * for the delivery's turn, since the answer is not known or the record is full.
 */
int speculative_delivery_syscall(struct speculative_delivery *speculative,
                                 const struct vat_request *request, struct stamp come,
                                 const char **answer, struct error *error);

/* The last answer was sent at that moment. */
void speculative_delivery_answered(struct speculative_delivery *speculative, struct stamp answered);

/* Records the end. -1 if out of memory. */
int speculative_delivery_ended(struct speculative_delivery *speculative,
                               const struct warehouse_answer *answer, struct error *error);
int speculative_delivery_lost(struct speculative_delivery *speculative,
                              const struct warehouse_loss *loss, struct error *error);

/*
 * A speculative delivery of which the kernel refuses a syscall that the worker has an answer to. To
 * measure what it used up to there, it runs again, is answered from the record, and is stopped.
 */
struct refused_delivery {
    const struct speculative_delivery *record; /* borrowed; NULL: none runs again */
    size_t refused;                            /* index of the request that is refused */
    size_t next;                               /* index of the request that comes next */
    enum error_kind blame;                     /* as warehouse_abort_delivery() takes it */
    char *reason;                              /* why it is refused, owned */
    bool reached;                              /* the worker has made it, and waits */
};

/* Sets all of *delivery; the record is borrowed until refused_delivery_free(). -1 if out of
 * memory. */
int refused_delivery_init(struct refused_delivery *delivery,
                          const struct speculative_delivery *record, size_t refused,
                          enum error_kind blame, const char *reason, struct error *error);

/* Leaves all zeros, of which nothing has to be freed. */
void refused_delivery_free(struct refused_delivery *delivery);

/* The recorded request that the worker made again; NULL: it made another one. */
const struct recorded_request *refused_delivery_next(struct refused_delivery *delivery,
                                                     const struct vat_request *request);

#endif
