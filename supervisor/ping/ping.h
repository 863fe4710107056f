/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PING_PING_H
#define GASPIPE_SUPERVISOR_PING_PING_H

/* `gaspipe ping`; argv[0] is "ping". Returns the exit status. */
int ping_command(int argc, char **argv);

#endif
