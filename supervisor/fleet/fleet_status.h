/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_STATUS_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_STATUS_H

#include "supervisor/fleet/fleet_options.h"
#include "supervisor/fleet/transport/transport.h"

/* `gaspipe fleet status` and `gaspipe fleet cancel`. The exit status, or -1 with the error
 * filled. */
int fleet_status(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error);
int fleet_cancel(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error);

#endif
