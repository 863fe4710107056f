/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/placement.h"

#include <errno.h>
#include <stddef.h>

#include "base/log.h"
#include "supervisor/process/worker_process.h"

const char *const placement_names[] = {
    [PLACEMENT_NONE] = "none",
    [PLACEMENT_SAME] = "same",
    [PLACEMENT_SPREAD] = "spread",
    [PLACEMENT_AUTO] = "auto",
    NULL,
};

static cpu_set_t one_cpu(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return set;
}

static int pin_thread(int cpu, struct error *error)
{
    const cpu_set_t set = one_cpu(cpu);

    if (sched_setaffinity(0, sizeof set, &set) == 0)
        return 0;
    return error_system(error, errno, "cannot run on CPU %d alone", cpu);
}

/* The first CPU after `cpu` that the set has, from its beginning again after its end. */
static int next_cpu(const cpu_set_t *set, int cpu)
{
    do
        cpu = (cpu + 1) % CPU_SETSIZE;
    while (!CPU_ISSET((size_t)cpu, set));
    return cpu;
}

/* The CPU that this thread runs on, since moving costs time; with a slot, that many after the
 * first.
 */
static int first_cpu(const struct placement *placement)
{
    int cpu = -1;

    if (placement->slot < 0)
        return next_cpu(&placement->before, sched_getcpu() - 1);
    for (int i = placement->slot % CPU_COUNT(&placement->before); i >= 0; i--)
        cpu = next_cpu(&placement->before, cpu);
    return cpu;
}

int placement_open(struct placement *placement, enum placement_kind kind, int slot, bool overlap,
                   struct error *error)
{
    *placement =
        (struct placement){.kind = kind, .here = -1, .there = -1, .slot = slot, .overlap = overlap};
    if (kind == PLACEMENT_NONE)
        return 0;
    if (sched_getaffinity(0, sizeof placement->before, &placement->before) != 0)
        return error_system(error, errno, "cannot ask which CPUs may be used");
    if (kind == PLACEMENT_AUTO)
        return 0;
    placement->here = first_cpu(placement);
    placement->there = placement->here;
    if (kind == PLACEMENT_SPREAD)
        placement->there = next_cpu(&placement->before, placement->here);
    if (kind == PLACEMENT_SPREAD && placement->there == placement->here)
        return error_set(error, ERROR_SYSTEM,
                         "--placement spread needs two CPUs; this process may use one");
    return pin_thread(placement->here, error);
}

void placement_gather(struct placement *placement)
{
    const bool moves = placement->kind == PLACEMENT_AUTO && !placement->overlap &&
                       !placement->gathered && CPU_COUNT(&placement->before) > 1;
    struct error ignored;
    cpu_set_t set;
    int cpu;

    placement->gathered = true;
    if (!moves)
        return;
    cpu = first_cpu(placement);
    if (pin_thread(cpu, &ignored) != 0)
        return;
    set = one_cpu(cpu);
    worker_process_place_all(&set);
    placement->here = placement->there = cpu;
}

void placement_explain_busy(const struct placement *placement, const struct cpu_waits *waits,
                            int64_t total)
{
    enum { TENTH = 10 };

    if (placement->here < 0 || waits->gaspipe + waits->worker <= total / TENTH)
        return;
    log_line(
        "--placement %s chose CPU %d, which was busy: gaspipe waited %.1f ms for it, and workers "
        "%.1f ms, in %.1f ms of deliveries; --placement none leaves the choice to Linux",
        placement_names[placement->kind], placement->here, (double)waits->gaspipe / 1e6,
        (double)waits->worker / 1e6, (double)total / 1e6);
}

int placement_begin_start(const struct placement *placement, struct error *error)
{
    return placement->there == placement->here ? 0 : pin_thread(placement->there, error);
}

int placement_end_start(const struct placement *placement, struct error *error)
{
    return placement->there == placement->here ? 0 : pin_thread(placement->here, error);
}

/* ---- CPUs of workers whose deliveries overlap ---- */

static bool is_cpu_free(const struct placement *placement, const cpu_set_t *reserved, int cpu)
{
    return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET((size_t)cpu, &placement->before) &&
           !CPU_ISSET((size_t)cpu, reserved);
}

static int choose_cpu(const struct placement *placement, const cpu_set_t *reserved, int last,
                      int caller)
{
    if (last != caller && is_cpu_free(placement, reserved, last))
        return last;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (cpu != caller && is_cpu_free(placement, reserved, cpu))
            return cpu;
    return is_cpu_free(placement, reserved, caller) ? caller : -1;
}

int placement_reserve_cpu(const struct placement *placement, cpu_set_t *reserved, int last)
{
    int cpu;

    if (placement->kind != PLACEMENT_AUTO || !placement->overlap ||
        CPU_COUNT(&placement->before) < 2)
        return -1;
    cpu = choose_cpu(placement, reserved, last, sched_getcpu());
    if (cpu >= 0)
        CPU_SET((size_t)cpu, reserved);
    return cpu;
}

void placement_pin(const struct worker_process *process, int cpu)
{
    const cpu_set_t set = one_cpu(cpu);

    worker_process_place(process, &set);
}

void placement_unpin(const struct placement *placement, const struct worker_process *process)
{
    worker_process_place(process, &placement->before);
}
