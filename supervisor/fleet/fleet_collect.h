/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_COLLECT_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_COLLECT_H

#include "supervisor/fleet/fleet_options.h"
#include "supervisor/fleet/transport/transport.h"

/* `gaspipe fleet collect`. The exit status, or -1 with the error filled. */
int fleet_collect(const struct fleet_options *options, struct fleet_transport *transport,
                  struct error *error);

#endif
