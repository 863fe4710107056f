/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/retry.h"

enum { FIRST_PAUSE_MS = 50, DOUBLINGS_MAX = 16 };

struct retry retry_decide(enum retry_work work, unsigned tries, uint64_t retries)
{
    const unsigned doublings = tries - 1 < DOUBLINGS_MAX ? tries - 1 : DOUBLINGS_MAX;

    if (tries > retries)
        return (struct retry){.action = RETRY_GIVE_UP};
    if (work != RETRY_DELIVERY)
        return (struct retry){.action = RETRY_WORKER};
    return (struct retry){.action = RETRY_CRANK, .pause_ms = (uint64_t)FIRST_PAUSE_MS << doublings};
}
