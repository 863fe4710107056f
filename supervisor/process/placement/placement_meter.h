/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_PLACEMENT_METER_H
#define GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_PLACEMENT_METER_H

#include "proto/meter.h"
#include "supervisor/process/placement/placement.h"
#include "supervisor/process/session.h"

/*
 * placement_observe() for a delivery made in a session, from the meter record that came with its
 * result and from what the session has taken since it was sent. One delivery is in flight. A record
 * without a stamp for each frame is passed over.
 */
void placement_observe_meter(struct placement *placement, const struct meter *meter,
                             const struct session_turns *turns);

#endif
