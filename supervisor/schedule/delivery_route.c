/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/delivery_route.h"

static void deliver_directly(void *context, const struct kernel_delivery *delivery)
{
    warehouse_deliver(context, delivery->vat, delivery->vd);
}

static struct stamp reply_directly(void *context, int64_t vat, struct iovec answer)
{
    return warehouse_reply(context, vat, answer);
}

static void condemn_directly(void *context, int64_t vat, const char *reason)
{
    warehouse_condemn(context, vat, reason);
}

static void withdraw_nothing(void *context, int64_t vat)
{
    (void)context;
    (void)vat;
}

struct delivery_route delivery_route_direct(struct warehouse *warehouse)
{
    return (struct delivery_route){
        .context = warehouse,
        .deliver = deliver_directly,
        .reply = reply_directly,
        .condemn = condemn_directly,
        .withdraw = withdraw_nothing,
    };
}
