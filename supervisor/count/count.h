/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COUNT_H
#define GASPIPE_SUPERVISOR_COUNT_COUNT_H

/* `gaspipe count`: argv[0] is "count". The exit status of the command. */
int count_command(int argc, char **argv);

#endif
