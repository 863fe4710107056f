/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/retry.h"

enum { FIRST_PAUSE_MS = 50, DOUBLINGS_MAX = 16 };

static uint64_t retries_with(enum warehouse_hope hope, uint64_t retries)
{
    switch (hope) {
    case WAREHOUSE_NO_HOPE:
        return 0;
    case WAREHOUSE_HOPE_ONCE:
        return retries < 1 ? retries : 1;
    case WAREHOUSE_HOPE:
        break;
    }
    return retries;
}

struct retry retry_decide(const struct retry_case *given)
{
    const unsigned doublings = given->tries - 1 < DOUBLINGS_MAX ? given->tries - 1 : DOUBLINGS_MAX;
    struct retry retry = {.retries = retries_with(given->hope, given->retries)};

    retry.action = RETRY_AGAIN;
    if (given->tries > retry.retries)
        retry.action = given->suspect ? RETRY_QUARANTINE : RETRY_GIVE_UP;
    else if (given->in_crank)
        retry.pause_ms = (uint64_t)FIRST_PAUSE_MS << doublings;
    return retry;
}
