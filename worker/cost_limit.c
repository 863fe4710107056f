/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/cost_limit.h"

#ifdef __GASPIPE_METER__

#include <stddef.h>
#include <unistd.h>

#include "base/log.h"
#include "meter/gasmeter.h"
#include "proto/command.h"

/* The meter writes it in the middle of the engine. */
static volatile bool passed;

/* The meter has taken the budget away before it calls this. */
static void on_spent(void *unused)
{
    (void)unused;
    if (passed) {
        log_line("cost limit exceeded, and the engine did not stop");
        _exit(WORKER_EXIT_COST);
    }
    passed = true;
    gasmeter_budget(COST_LIMIT_GRACE);
}

void cost_limit_set(uint64_t units)
{
    gasmeter_on_spent(on_spent, NULL);
    gasmeter_budget(passed ? COST_LIMIT_GRACE : units);
}

void cost_limit_lift(void)
{
    gasmeter_budget(GASMETER_NONE);
}

bool cost_limit_passed(void)
{
    return passed;
}

void cost_limit_forget(void)
{
    passed = false;
}

#endif
