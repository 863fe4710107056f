/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_RETRY_H
#define GASPIPE_SUPERVISOR_SCHEDULE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/vats/warehouse.h"

/*
 * What to do after a worker was lost by the host's doing, or perhaps its vat's: it was killed,
 * crashed or hung, or cannot restore its vat. The one place where that is decided. Pure.
 */

struct retry_case {
    bool in_crank;            /* a crank's delivery was under way, or waited for the worker: the
                               * crank is run again; else only the worker is started */
    enum warehouse_hope hope; /* of struct warehouse_loss, as is: */
    bool suspect;
    unsigned tries;   /* that failed in a row, at least 1 */
    uint64_t retries; /* that are allowed after the first */
};

enum retry_action {
    RETRY_GIVE_UP,    /* end the run */
    RETRY_QUARANTINE, /* put the vat into quarantine and go on with the others */
    RETRY_AGAIN,      /* after the pause */
};

struct retry {
    enum retry_action action;
    uint64_t retries;  /* that are allowed in this case */
    uint64_t pause_ms; /* before a crank; doubles with each try: the host may recover */
};

struct retry retry_decide(const struct retry_case *given);

#endif
