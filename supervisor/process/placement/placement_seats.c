/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/placement/placement_seats.h"

#include <stdbool.h>

static bool is_free(const struct placement_seats *seats, const struct placement *placement,
                    int processor)
{
    return processor >= 0 && processor < CPU_SETSIZE &&
           CPU_ISSET((size_t)processor, &placement->before) &&
           !CPU_ISSET((size_t)processor, &seats->taken);
}

static int choose(const struct placement_seats *seats, const struct placement *placement, int last,
                  int caller)
{
    if (last != caller && is_free(seats, placement, last))
        return last;
    for (int processor = 0; processor < CPU_SETSIZE; processor++)
        if (processor != caller && is_free(seats, placement, processor))
            return processor;
    return is_free(seats, placement, caller) ? caller : -1;
}

int placement_seats_take(struct placement_seats *seats, const struct placement *placement, int last)
{
    int seat;

    if (placement->kind != PLACEMENT_AUTO || placement->stuck || placement->here >= 0)
        return -1;
    seat = choose(seats, placement, last, sched_getcpu());
    if (seat >= 0)
        CPU_SET((size_t)seat, &seats->taken);
    return seat;
}

void placement_seats_leave(struct placement_seats *seats, int seat)
{
    if (seat >= 0 && seat < CPU_SETSIZE)
        CPU_CLR((size_t)seat, &seats->taken);
}
