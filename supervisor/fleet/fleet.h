/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_H

/* `gaspipe fleet submit|work|status|collect|cancel`; argv[0] is "fleet". Returns the exit
 * status. */
int fleet_command(int argc, char **argv);

#endif
