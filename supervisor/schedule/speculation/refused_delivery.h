/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_SPECULATION_REFUSED_DELIVERY_H
#define GASPIPE_SUPERVISOR_SCHEDULE_SPECULATION_REFUSED_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "supervisor/schedule/speculation/speculative_delivery.h"

/*
 * A speculative delivery of which the kernel refuses a syscall that its worker has had an answer
 * to. It costs what it used up to that syscall, as one whose worker waits there: to measure that,
 * it is made once more, answered from the record as far as there, and stopped.
 */
struct refused_delivery {
    const struct speculative_delivery *record; /* borrowed; NULL: nothing is measured */
    size_t refused;                            /* index of the request that is refused */
    size_t next;                               /* index of the request that comes next */
    char *reason;                              /* why it is refused, owned */
    bool reached;                              /* the worker has made it, and waits */
};

/* All of *delivery is set; the record is borrowed until refused_delivery_free(). -1 when memory
 * ran out. */
int refused_delivery_init(struct refused_delivery *delivery,
                          const struct speculative_delivery *record, size_t refused,
                          const char *reason, struct error *error);

/* Leaves all zeros, of which nothing is left to be freed. */
void refused_delivery_free(struct refused_delivery *delivery);

/* It makes a console call. False: not the one that is recorded. */
bool refused_delivery_said(struct refused_delivery *delivery, const struct vat_request *request);

enum refused_step {
    REFUSED_ANSWER,   /* with *answer, the record's */
    REFUSED_HERE,     /* this is the one that is refused */
    REFUSED_DEVIATES, /* it is not the request that is recorded */
};

/* It makes a syscall. */
enum refused_step refused_delivery_asked(struct refused_delivery *delivery,
                                         const struct vat_request *request, const char **answer);

/*
 * The meter of the delivery that was measured, as of the recorded one: without stamps, which tell
 * of another time than the record's do. It borrows from *used.
 */
struct meter refused_delivery_used(const struct meter *used);

#endif
