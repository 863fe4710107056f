/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/region.h"

#include "counter/gasmark.h"
#include "proto/command.h"

_Static_assert((int)WORKER_EXIT_INSTRUCTIONS == GASMARK_EXIT_LIMIT,
               "the counter ends the worker with a status that the supervisor knows");

/* Read the compiled-in meter inside QEMU's marks, so that a region costs the same with and
 * without it. */
#ifdef __GASPIPE_METER__

#include <stddef.h>
#include <unistd.h>

#include "base/log.h"
#include "meter/gasmeter.h"

enum { COST_KNOWN = true };

/* The meter sets this while the engine runs. */
static volatile bool cost_passed;

bool region_is_over_cost(void)
{
    return cost_passed;
}

/* The meter has taken the budget away before it calls this. */
static void on_cost_spent(void *unused)
{
    (void)unused;
    if (cost_passed) {
        log_line("cost limit exceeded, and the engine did not stop");
        _exit(WORKER_EXIT_COST);
    }
    cost_passed = true;
    gasmeter_budget(COST_LIMIT_GRACE);
}

/* A resumed region may have passed its limit before. */
static void set_cost_budget(uint64_t units)
{
    gasmeter_on_spent(on_cost_spent, NULL);
    gasmeter_budget(cost_passed ? COST_LIMIT_GRACE : units);
}

static void lift_cost_budget(void)
{
    gasmeter_budget(GASMETER_NONE);
}

static void forget_cost(void)
{
    cost_passed = false;
}

#else

enum { COST_KNOWN = false };

static uint64_t gasmeter_read(void)
{
    return 0;
}
static void gasmeter_start(void)
{
}
static void gasmeter_pause(void)
{
}
static void gasmeter_resume(void)
{
}
static uint64_t gasmeter_stop(void)
{
    return 0;
}
static void set_cost_budget(uint64_t units)
{
    (void)units;
}
static void lift_cost_budget(void)
{
}
static void forget_cost(void)
{
}

#endif

/* The meter's own regions make its profiles. QEMU's marks, compiled with the meter, make them too.
 */
static void notify_meter(const struct region *region, void (*what)(void))
{
    if (!region->counter)
        what();
}

bool region_open(struct region *region, uint64_t limit)
{
    region->counter = gasmark_present() == 1;
    region->limit = limit;
    return region->counter || limit == 0;
}

bool region_limit_cost(struct region *region, uint64_t units)
{
    region->cost_limit = units;
    return COST_KNOWN || units == 0;
}

/*
 * The meter's budget begins after the number that a region begins with: a region that stays
 * within its limit never spends the budget.
 */
static void limit_cost(const struct region *region)
{
    if (COST_KNOWN && region->cost_limited)
        set_cost_budget(region->cost < region->cost_limit ? region->cost_limit - region->cost : 0);
}

static void unlimit_cost(const struct region *region)
{
    if (COST_KNOWN && region->cost_limited)
        lift_cost_budget();
}

void region_start(struct region *region, bool limited)
{
    forget_cost();
    region->cost_limited = limited && region->cost_limit > 0;
    if (region->limit > 0)
        gasmark_limit(limited ? region->limit : 0);
    if (region->counter)
        gasmark_start();
    notify_meter(region, gasmeter_start);
    region->cost = 0;
    region->paused = false;
    region->cost_begun = gasmeter_read();
    limit_cost(region);
}

void region_pause(struct region *region)
{
    region->cost += gasmeter_read() - region->cost_begun;
    region->paused = true;
    notify_meter(region, gasmeter_pause);
    unlimit_cost(region);
    if (region->counter)
        gasmark_pause();
}

void region_resume(struct region *region)
{
    if (region->counter)
        gasmark_resume();
    notify_meter(region, gasmeter_resume);
    region->paused = false;
    region->cost_begun = gasmeter_read();
    limit_cost(region);
}

void region_stop(struct region *region, struct meter *meter)
{
    struct gasmark_totals totals;

    meter->cost_known = COST_KNOWN;
    if (!region->paused)
        region->cost += gasmeter_read() - region->cost_begun;
    meter->block_cost = region->cost;
    unlimit_cost(region);
    meter->counted = region->counter;
    if (!region->counter) {
        (void)gasmeter_stop();
        return;
    }
    totals = gasmark_stop_totals();
    meter->instructions = totals.instructions;
    meter->bytes_read = totals.bytes_read;
    meter->bytes_written = totals.bytes_written;
}

bool region_passed_cost(const struct region *region, const struct meter *meter)
{
    return region->cost_limited && meter->block_cost > region->cost_limit;
}
