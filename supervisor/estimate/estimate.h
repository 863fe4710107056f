/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_ESTIMATE_H
#define GASPIPE_SUPERVISOR_ESTIMATE_ESTIMATE_H

/* `gaspipe estimate`: argv[0] is "estimate". Returns the exit status. */
int estimate_command(int argc, char **argv);

#endif
