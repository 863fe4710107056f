/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_AHEAD_H
#define GASPIPE_SUPERVISOR_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stamp.h"
#include "kernel/kernel.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "store/overlay.h"
#include "supervisor/vats/warehouse.h"

/*
 * A delivery that a worker was given before its turn, and what it came to, kept until
 * then: what the vat said and asked, what it was answered, how it ended. Nothing of
 * it is in the store.
 */
struct ahead_request {
    struct vat_request request; /* owned */
    struct stamp come, answered;
    char *answer; /* to a syscall, owned; NULL: it waits, and is the last one */
};

struct ahead {
    struct ahead *next; /* its owner's list */
    int64_t vat, incarnation, position;
    char *vd; /* owned */
    struct stamp sent;

    struct overlay overlay; /* what it stored */
    struct ahead_request *requests;
    size_t count, capacity;
    size_t bytes; /* that it asked, said and was answered, about */

    bool waits; /* what it asks cannot be known before its turn */
    bool ended;
    struct stamp come;     /* of its end */
    bool lost;             /* its worker ended: there is no meter */
    struct meter meter;    /* owned */
    char *problem, *value; /* as struct warehouse_answer has them, owned */
    enum error_kind blame; /* of a loss */
};

/* Copies what is needed of the delivery; the store is borrowed. NULL when memory ran out. */
struct ahead *ahead_new(struct store *store, const struct kernel_delivery *delivery);
void ahead_free(struct ahead *ahead); /* NULL is allowed */

/* Whether the delivery that has its turn is the one that was predicted. */
bool ahead_is(const struct ahead *ahead, const struct kernel_delivery *delivery);

/* The vat said something, and was answered. */
int ahead_said(struct ahead *ahead, const struct vat_request *request, struct stamp come,
               struct error *error);

/* It has said and asked so much already that more is not to be kept. */
bool ahead_is_full(const struct ahead *ahead);

/*
 * The vat makes a syscall: *answer is what to answer with, the recording's, or NULL when it
 * waits for its turn; also when the recording is full.
 */
int ahead_asked(struct ahead *ahead, const struct vat_request *request, struct stamp come,
                const char **answer, struct error *error);

/* The last answer was sent then. */
void ahead_answered(struct ahead *ahead, struct stamp answered);

/* How it ended. */
int ahead_ended(struct ahead *ahead, const struct warehouse_answer *answer, struct error *error);
int ahead_lost(struct ahead *ahead, const struct warehouse_loss *loss, struct error *error);

#endif
