/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/speculation/refused_delivery.h"

#include <stdlib.h>
#include <string.h>

int refused_delivery_init(struct refused_delivery *delivery,
                          const struct speculative_delivery *record, size_t refused,
                          const char *reason, struct error *error)
{
    *delivery = (struct refused_delivery){.reason = strdup(reason)};
    if (delivery->reason == NULL)
        return error_memory(error, "a refused delivery");
    delivery->record = record;
    delivery->refused = refused;
    return 0;
}

void refused_delivery_free(struct refused_delivery *delivery)
{
    free(delivery->reason);
    *delivery = (struct refused_delivery){0};
}

/* The recorded request that this is the same as; NULL: it is not the next one. */
static const struct recorded_request *take_next(struct refused_delivery *delivery,
                                                const struct vat_request *request)
{
    const struct recorded_request *recorded;

    if (delivery->next > delivery->refused)
        return NULL;
    recorded = &delivery->record->requests[delivery->next++];
    return vat_request_same(&recorded->request, request) ? recorded : NULL;
}

bool refused_delivery_said(struct refused_delivery *delivery, const struct vat_request *request)
{
    return take_next(delivery, request) != NULL;
}

enum refused_step refused_delivery_asked(struct refused_delivery *delivery,
                                         const struct vat_request *request, const char **answer)
{
    const struct recorded_request *recorded = take_next(delivery, request);

    if (recorded == NULL)
        return REFUSED_DEVIATES;
    delivery->reached = delivery->next > delivery->refused;
    *answer = recorded->answer;
    return delivery->reached ? REFUSED_HERE : REFUSED_ANSWER;
}

struct meter refused_delivery_used(const struct meter *used)
{
    struct meter meter = *used;

    meter.stamps = NULL;
    meter.stamp_count = 0;
    meter.text = (struct iovec){0}; /* it has the stamps, too */
    return meter;
}
