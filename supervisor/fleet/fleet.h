/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_H

#include "supervisor/fleet/fleet_options.h"
#include "supervisor/fleet/transport.h"

/* `gaspipe fleet submit`. The exit status, or -1 with the error filled. */
int fleet_submit(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error);

/* `gaspipe fleet work` with one slot: takes jobs and does them until none is left. The exit status,
 * or -1 with the error filled. */
int fleet_work(const struct fleet_options *options, struct fleet_transport *transport,
               struct error *error);

/* With several: as many processes of one slot, each with argv. Likewise. */
int fleet_work_slots(const struct fleet_options *options, int argc, char **argv,
                     struct error *error);

/* In such a process: ends when its parent does. */
void fleet_work_join(void);

/* `gaspipe fleet status` and `gaspipe fleet cancel`. The exit status, or -1 with the error
 * filled. */
int fleet_status(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error);
int fleet_cancel(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error);

/* `gaspipe fleet collect`. The exit status, or -1 with the error filled. */
int fleet_collect(const struct fleet_options *options, struct fleet_transport *transport,
                  struct error *error);

/* `gaspipe fleet submit|work|status|collect|cancel`; argv[0] is "fleet". Returns the exit
 * status. */
int fleet_command(int argc, char **argv);

#endif
