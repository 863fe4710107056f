/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_ROUTE_H
#define GASPIPE_KERNEL_GRAPH_ROUTE_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* Where a message goes. */

enum route {
    ROUTE_VAT,     /* to an object of a vat that lives */
    ROUTE_PROMISE, /* it waits for the promise */
    ROUTE_NOWHERE, /* its result was rejected */
};

struct routed {
    enum route route;
    int64_t vat;
    char target[KERNEL_REF_SIZE]; /* the object where the target was a promise for it */
};

/* `send` is a queue's item. No count changes. */
int route_send(struct kernel *kernel, const json_t *send, struct routed *routed,
               struct error *error);

#endif
