/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_PLACEMENT_SEATS_H
#define GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_PLACEMENT_SEATS_H

#include <sched.h>

#include "supervisor/process/placement/placement.h"

/*
 * Processors for workers that compute at the same time. By itself the system often wakes the second
 * one on the processor of the first, where it waits for milliseconds while another processor is
 * idle. All zeros: none is taken.
 */
struct placement_seats {
    cpu_set_t taken;
};

/*
 * Of PLACEMENT_AUTO, while workers may run anywhere: one that nobody has, `last` if possible, and
 * the calling thread's only if there is no other. -1: there is none, or nothing is to be chosen.
 */
int placement_seats_take(struct placement_seats *seats, const struct placement *placement,
                         int last);

void placement_seats_leave(struct placement_seats *seats, int seat);

#endif
