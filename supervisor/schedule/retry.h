/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_RETRY_H
#define GASPIPE_SUPERVISOR_SCHEDULE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What to do after a host failure: a worker was killed, hung or could not be
 * started. The one place where that is decided. Pure.
 */

enum retry_work {
    RETRY_DELIVERY, /* a crank's delivery was under way */
    RETRY_SNAPSHOT, /* the vat's snapshot was */
    RETRY_START,    /* the vat's worker was starting */
};

enum retry_action {
    RETRY_GIVE_UP,
    RETRY_CRANK,  /* after the pause, run the crank again, which has been dropped */
    RETRY_WORKER, /* start the vat's worker again, at once */
};

struct retry {
    enum retry_action action;
    uint64_t pause_ms; /* with RETRY_CRANK; doubles with each try: the host may recover */
};

/* `tries` have failed in a row, at least 1; `retries` are allowed after the first. */
struct retry retry_decide(enum retry_work work, unsigned tries, uint64_t retries);

#endif
