/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/placement/placement.h"

#include <errno.h>
#include <string.h>

#include "supervisor/process/worker_process.h"

const char *const placement_names[] = {
    [PLACEMENT_NONE] = "none",
    [PLACEMENT_SAME] = "same",
    [PLACEMENT_SPREAD] = "spread",
    [PLACEMENT_AUTO] = "auto",
    NULL,
};

static int pin(int processor, struct error *error)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) == 0)
        return 0;
    return error_system(error, errno, "cannot run on processor %d alone", processor);
}

/* The first processor after `processor` that the set has, from its beginning
 * again after its end. */
static int next_processor(const cpu_set_t *set, int processor)
{
    do
        processor = (processor + 1) % CPU_SETSIZE;
    while (!CPU_ISSET((size_t)processor, set));
    return processor;
}

/* The one that this thread runs on now, since moving costs; with a seat, that many behind the
 * first. */
static int first_processor(const struct placement *placement, int seat)
{
    int processor = -1;

    if (seat < 0)
        return next_processor(&placement->before, sched_getcpu() - 1);
    for (int i = seat % CPU_COUNT(&placement->before); i >= 0; i--)
        processor = next_processor(&placement->before, processor);
    return processor;
}

int placement_open(struct placement *placement, enum placement_kind kind, int seat,
                   struct error *error)
{
    *placement = (struct placement){.kind = kind, .here = -1, .there = -1, .seat = -1};
    if (kind == PLACEMENT_NONE)
        return 0;
    if (sched_getaffinity(0, sizeof placement->before, &placement->before) != 0)
        return error_system(error, errno, "cannot ask which processors may be used");
    if (kind == PLACEMENT_AUTO) {
        placement->stuck = CPU_COUNT(&placement->before) < 2;
        placement->seat = seat < 0 ? -1 : first_processor(placement, seat);
        return 0;
    }
    placement->here = first_processor(placement, seat);
    placement->there = placement->here;
    if (kind == PLACEMENT_SPREAD)
        placement->there = next_processor(&placement->before, placement->here);
    if (kind == PLACEMENT_SPREAD && placement->there == placement->here)
        return error_set(error, ERROR_SYSTEM,
                         "there is only one processor to use: spread needs two");
    return pin(placement->here, error);
}

int placement_begin_start(const struct placement *placement, struct error *error)
{
    return placement->there == placement->here ? 0 : pin(placement->there, error);
}

int placement_end_start(const struct placement *placement, struct error *error)
{
    return placement->there == placement->here ? 0 : pin(placement->here, error);
}

static int move_all(const cpu_set_t *set)
{
    if (sched_setaffinity(0, sizeof *set, set) != 0)
        return -1;
    worker_process_place_all(set);
    return 0;
}

/* Onto the seat; if that did not do, onto the processor that this thread runs on now: the system
 * has chosen it. */
static int move_together(struct placement *placement)
{
    const int processor = placement->seat >= 0 ? placement->seat : sched_getcpu();
    cpu_set_t set;

    placement->seat = -1;
    if (processor < 0 || !CPU_ISSET((size_t)processor, &placement->before))
        return -1;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (move_all(&set) != 0)
        return -1;
    placement->here = placement->there = processor;
    return 0;
}

static void move_apart(struct placement *placement)
{
    /* What was allowed before; if it is not any more the system has chosen others. */
    (void)move_all(&placement->before);
    placement->here = placement->there = -1;
}

void placement_set_aside(const struct placement *placement, const struct worker_process *process)
{
    if (placement->kind == PLACEMENT_AUTO)
        worker_process_place(process, &placement->before);
}

int64_t placement_waited(int64_t pipe, int64_t worker, int64_t processor)
{
    if (pipe < 0)
        return PLACEMENT_UNKNOWN;
    /* Time in which the worker had work and no processor is waiting too. */
    return processor >= 0 && worker > processor ? pipe + worker - processor : pipe;
}

bool placement_observe(struct placement *placement, const struct placement_observation *seen,
                       const char **reason)
{
    if (placement->kind != PLACEMENT_AUTO || placement->stuck ||
        !placement_auto_observe(&placement->decision, seen, reason))
        return false;
    if (placement->decision.side == PLACEMENT_TOGETHER && move_together(placement) == 0)
        return true;
    /* Where it may not be moved it stays as it was found, for good. */
    placement->stuck = placement->decision.side == PLACEMENT_TOGETHER;
    move_apart(placement);
    return !placement->stuck;
}
